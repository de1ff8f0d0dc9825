/* The training step of a GAN (Radford et al. 2016, PyTorch's example dcgan), as a list of ops. Comments in functions
 * are PyTorch equivalents of the ops that follow. B is the batch size, criterion is the loss of --loss, and both
 * networks are in train mode. Differences from the PyTorch example:
 *   - D's batch has B real images, then B samples. Each half has its own batch statistics.
 *   - No zero_grad(): ops overwrite gradients. One op updates all weights of a network.
 *   - Instead of fake.detach(), D's backward pass computes only weight gradients (unless penalised: penalty.h). */
#include "host/net/gan_step.h"

#include <stdlib.h>

#include "core/base/rng.h"
#include "host/net/gan_losses.h"
#include "host/net/penalty.h"
#include "host/net/recipe_parts.h"
#include "host/net/shards.h"

dg_op *dg_add_noise(dg_job *job, dg_plan *plan, int z, int N, int stream)
{
    dg_op *op = dg_plan_add(plan, DG_OP_noise, "G.z");
    op->u.noise = (dg_noise_args){.n = (int64_t)N * job->model.latent, .stream = stream};
    dg_bind_row(op, "z", z);
    dg_bind_row(op, "state", job->row[DG_ROW_STATE]);
    return op;
}

dg_view dg_add_onehot(dg_builder *b, dg_job *job, dg_view z, dg_view label, int N, const char *suffix)
{
    const dg_model *m = &job->model;
    if (!m->classes) return z;
    const int width = m->latent + m->classes;
    const dg_view in = {dg_work_row(b, DG_G, (dg_shape){N, 1, 1, width}, "G.in%s", suffix), 0};
    dg_op *op = dg_plan_add(b->plan, DG_OP_onehot, "G.onehot%s", suffix);
    op->u.onehot = (dg_onehot_args){.N = N, .width = width, .latent = m->latent};
    dg_bind(op, "y", in);
    dg_bind(op, "z", z);
    dg_bind(op, "label", label);
    return in;
}

static const dg_view nothing = {-1, 0};

static dg_view from(dg_view v, int64_t elements) { return (dg_view){v.row, v.offset + elements}; }

typedef struct {
    const char *part;
    dg_view logit, dlogit;
    dg_view other; /* logits of the other images, for a paired loss (gan_losses.h) */
    int n;
    bool real; /* true: target 1; false: target dg_loss_info.low */
    bool of_g;
    int loss, prob; /* metric indices */
} loss_part;

/* loss = criterion(logit, target); dlogit = d loss / d logit */
static void add_loss(dg_job *job, dg_plan *plan, const loss_part *s)
{
    const dg_loss_info *l = &dg_losses[job->o.loss];
    dg_op *op = dg_plan_add(plan, DG_OP_gan_loss, "D.%s.%s", l->word, s->part);
    op->u.gan_loss = (dg_gan_loss_args){.n = s->n,
                                        .form = s->of_g ? l->form_g : l->form_d,
                                        .both = l->paired && s->of_g,
                                        .target = s->real ? 1 : l->low,
                                        .low = l->low,
                                        .loss = s->loss,
                                        .prob = s->prob};
    dg_bind(op, "dlogit", s->dlogit);
    dg_bind(op, "logit", s->logit);
    if (l->paired) dg_bind(op, "other", s->other);
    dg_bind_row(op, "ring", job->row[DG_ROW_METRICS]);
    dg_bind_row(op, "state", job->row[DG_ROW_STATE]);
}

/* For a paired loss of G: logit_real = D(augment(x)) with the updated D and no backward pass. Momentum 0 keeps D's
 * running statistics, because x has already updated them. */
static dg_view see_real_again(dg_builder *b, dg_job *job, dg_view seen, const dg_view *label, int B)
{
    static const double none = 0;
    if (!dg_losses[job->o.loss].paired) return nothing;
    dg_pass d = {.net = DG_D,
                 .N = B,
                 .groups = 1,
                 .order = 2,
                 .momentum = &none,
                 .suffix = ".r",
                 .label = label,
                 .in = seen,
                 .target = nothing};
    dg_forward(b, &d);
    return d.out;
}

/* The tensors of a shard that both phases use. x and fake are views of tensor D.x. */
typedef struct {
    dg_view x, fake, label, seen;
    dg_pass g;
} shard;

static unsigned bit(int metric) { return 1u << metric; }

/* D's phase for B images of a shard, up to the gradients of D. */
static void shard_of_d(dg_builder *b, dg_job *job, dg_plan_role role, shard *s, int B)
{
    const dg_model *m = &job->model;
    const dg_shape image = dg_size_shape(B, m->size, m->channels);
    dg_plan *plan = b->plan;

    /* x, label = next(loader); z = torch.randn(B, latent) */
    s->x = (dg_view){dg_work_row(b, DG_D, dg_batch_of(image, 2 * B), "D.x"), 0};
    s->fake = from(s->x, (int64_t)dg_count(image));
    const dg_view z = {dg_work_row(b, DG_G, (dg_shape){B, 1, 1, m->latent}, "G.z"), 0};
    job->input[role] = z.row;
    job->arena.row[z.row].keep = job->o.z_given;
    s->label = nothing;
    if (m->classes) s->label.row = dg_arena_row(b->arena, "D.label", DG_WORK, DG_D, DG_I32, (dg_shape){1, 1, 1, B});
    dg_op *op = dg_add_gather(job, plan, "D.x.gather", s->x, s->label, B);
    op->u.gather.flip = job->o.flip;
    op->u.gather.first = (int)dg_shard_first(b, B);
    if (!job->o.z_given)
        dg_add_noise(job, plan, z.row, B, DG_STREAM_NOISE)->u.noise.first = dg_shard_first(b, (int64_t)B * m->latent);

    /* fake = G(z), or G(torch.cat([z, one_hot(label)])) with classes */
    const dg_view in = dg_add_onehot(b, job, z, s->label, B, "");
    s->g = (dg_pass){.net = DG_G, .N = B, .groups = 1, .suffix = "", .in = in, .target = s->fake};
    dg_forward(b, &s->g);

    /* logit = torch.cat([D(augment(x)), D(augment(fake.detach()))]) */
    s->seen = dg_add_augment(b, job, DG_D, s->x, 2 * B, 0);
    dg_pass d = {
        .net = DG_D, .N = 2 * B, .groups = 2, .suffix = "", .label = &s->label, .in = s->seen, .target = nothing};
    dg_forward(b, &d);

    /* loss_d = criterion(logit[:B], 1) + criterion(logit[B:], low) */
    const dg_view dlogit = {dg_work_row(b, DG_D, (dg_shape){2 * B, 1, 1, 1}, "D.dlogit"), 0};
    const dg_view of_real = d.out, of_fake = from(d.out, B), dfake = from(dlogit, B);
    add_loss(job, plan, &(loss_part){"real", of_real, dlogit, of_fake, B, true, false, DG_LOSS_D_REAL, DG_D_X});
    add_loss(job, plan, &(loss_part){"fake", of_fake, dfake, of_real, B, false, false, DG_LOSS_D_FAKE, DG_D_GZ1});

    /* loss_d += r1 / 2 * mean(|grad D(x)|^2) + r2 / 2 * mean(|grad D(fake)|^2), after augmentation (penalty.h);
     * loss_d.backward() */
    if (dg_is_penalised(&job->o)) dg_backward_penalised(b, job, role, &d, dlogit);
    else dg_backward(b, &d, dlogit, DG_WANT_WEIGHTS);
}

/* G's phase for B images of a shard, up to the gradients of G. */
static void shard_of_g(dg_builder *b, dg_job *job, shard *s, int B)
{
    /* logit = D(augment(fake)), with the updated D */
    const dg_view real_again = see_real_again(b, job, s->seen, &s->label, B);
    const dg_view again = dg_add_augment(b, job, DG_D, s->fake, B, 1);
    dg_pass d = {.net = DG_D,
                 .N = B,
                 .groups = 1,
                 .order = 1,
                 .suffix = ".g",
                 .label = &s->label,
                 .in = again,
                 .target = nothing};
    dg_forward(b, &d);

    /* loss_g = criterion(logit, 1) */
    const dg_view dlogit = {dg_work_row(b, DG_D, (dg_shape){B, 1, 1, 1}, "D.dlogit.g"), 0};
    add_loss(job, b->plan, &(loss_part){"g", d.out, dlogit, real_again, B, true, true, DG_LOSS_G, DG_D_GZ2});

    /* loss_g.backward(), without D's weight gradients */
    const dg_view dseen = dg_backward(b, &d, dlogit, DG_WANT_INPUT);
    dg_backward(b, &s->g, dg_add_augment_dx(b, job, DG_D, dseen, B, 1), DG_WANT_WEIGHTS);
}

/* Append the step for `shards` shards of B images each. */
static void step(dg_builder *b, dg_job *job, dg_plan_role role, shard *list, int shards, int B)
{
    const unsigned of_d = bit(DG_LOSS_D_REAL) | bit(DG_LOSS_D_FAKE) | bit(DG_D_X) | bit(DG_D_GZ1) |
                          (dg_is_penalised(&job->o) ? bit(DG_R1) | bit(DG_R2) : 0),
                   of_g = bit(DG_LOSS_G) | bit(DG_D_GZ2);
    for (int k = 0; k < shards; k++) {
        dg_shard_begin(b, k);
        shard_of_d(b, job, role, &list[k], B);
        dg_shard_collect(b, job, DG_D, of_d);
    }
    dg_shards_end_phase(b);
    dg_shards_update(b, job, DG_D, DG_BAD_D); /* optimizer_d.step() */
    for (int k = 0; k < shards; k++) {
        dg_shard_begin(b, k);
        shard_of_g(b, job, &list[k], B);
        dg_shard_collect(b, job, DG_G, of_g);
    }
    dg_shards_end_phase(b);
    dg_shards_update(b, job, DG_G, DG_BAD_G); /* optimizer_g.step() */
    dg_shards_end_plan(b, job, of_d | of_g, bit(DG_BAD_D) | bit(DG_BAD_G));

    /* ema_g = d * ema_g + (1 - d) * G's weights, with d = min(decay, step / (step + 10)) */
    if (dg_is_averaged(&job->o)) dg_add_average(job, b->plan, DG_G);
    dg_add_advance(job, b->plan, dg_shards_all(b) * B);
}

void dg_gan_step(dg_builder *b, dg_job *job, dg_plan_role role, int B)
{
    const int shards = dg_shards_own(b);
    shard *list = calloc((size_t)shards, sizeof *list);
    b->plan = &job->plan[role];
    dg_plan_begin(b->plan, &job->arena, dg_plan_role_name[role]);
    dg_shards_begin_plan(b, (const int[]){[DG_G] = 1, [DG_D] = 3});
    if (list) step(b, job, role, list, shards, B / dg_shards_all(b));
    else job->arena.full = true;
    free(list);
}
