/* The GAN: what its two networks must be like, the ops of a training step and of sampling, and its row of recipes. */
#include "host/net/gan.h"

#include <stdio.h>
#include <string.h>

#include "core/base/rng.h"
#include "host/net/job.h"
#include "host/net/layers/layers.h"
#include "host/net/recipe_parts.h"

static const dg_view nothing = {-1, 0};

/* Its weights would be averaged, sampled with and seen by PyTorch as those of its transposed convolutions. */
static dg_err check_norms(const dg_model *m, const dg_net *g)
{
    for (int i = 0; i < g->layers; i++)
        if (g->layer[i].norm == DG_NORM_SPECTRAL)
            return dg_layer_fail(&g->layer[i], m->where,
                                 "norm = spectral: is for the discriminator; the generator has norm = batch or none");
    return DG_OK;
}

static dg_err check_end(const dg_model *m, int net, const dg_layer *last)
{
    const dg_shape want = net == DG_G ? (dg_shape){1, m->size, m->size, m->channels} : (dg_shape){1, 1, 1, 1};
    const dg_shape is = last->out;
    if (is.H != want.H || is.W != want.W || is.C != want.C)
        return dg_layer_fail(last, m->where, "ends in %d x %d x %d; the %s must end in %d x %d x %d", is.H, is.W, is.C,
                             net == DG_G ? "generator" : "discriminator", want.H, want.W, want.C);
    if (net == DG_G && (last->norm || last->act != DG_ACT_TANH))
        return dg_layer_fail(last, m->where, "is the generator's last layer: it needs norm = none and act = tanh");
    if (net == DG_D && (last->norm == DG_NORM_BATCH || last->act != DG_ACT_NONE))
        return dg_layer_fail(last, m->where, "gives the logit: it needs norm = none or spectral, and act = none");
    return DG_OK;
}

/* Refuses two networks that are no GAN: G makes pictures of the latent vector and ends in tanh, D one logit of
 * pictures, and gradients find their way through both. */
static dg_err check_model(const dg_model *m)
{
    if (m->input != DG_INPUT_SIGNED || m->classes)
        return dg_fail(DG_USAGE, "%s: [model] %s: is for classifiers; a GAN's pictures go from -1 to 1", m->where,
                       m->classes ? "classes" : "input");
    for (int net = 0; net < 2; net++) {
        const dg_net *n = &m->net[net];
        if (n->latent != (net == DG_G))
            return dg_layer_fail(&n->layer[0], m->where, "in = %s: the %s reads the %s",
                                 n->latent ? "latent" : "pictures", net == DG_G ? "generator" : "discriminator",
                                 n->latent ? "pictures" : "latent vector");
        dg_err e = dg_check_trainable(m, net);
        if (!e && net == DG_G) e = check_norms(m, n);
        if (!e) e = check_end(m, net, &n->layer[n->layers - 1]);
        if (e) return e;
    }
    return DG_OK;
}

/* n logits that should be those of real pictures, or of generated ones; which of the three losses of a step it is. */
typedef struct {
    const char *part; /* of the op's name */
    dg_view logit, dlogit;
    dg_view other; /* those beside which a relativistic loss sees them */
    int n;
    bool real, of_g;
    int loss, prob; /* the metrics to write */
} loss_part;

static void add_loss(dg_job *job, dg_plan *plan, const loss_part *s)
{
    const dg_loss kind = job->o.loss;
    const bool bce = kind == DG_LOSS_BCE, relative = kind == DG_LOSS_RALSGAN;
    const double low = kind == DG_LOSS_LSGAN ? 0 : -1;
    dg_op *op = dg_plan_add(plan, bce ? DG_OP_bce : DG_OP_gan_loss, "D.%s.%s", bce ? "bce" : "loss", s->part);
    if (bce) op->u.bce = (dg_bce_args){.n = s->n, .target = s->real, .loss = s->loss, .prob = s->prob};
    else
        op->u.gan_loss = (dg_gan_loss_args){.n = s->n,
                                            .form = kind != DG_LOSS_HINGE ? DG_GAN_SQUARES
                                                    : s->of_g             ? DG_GAN_SCORE
                                                                          : DG_GAN_HINGE,
                                            .both = relative && s->of_g,
                                            .target = s->real ? 1 : low,
                                            .low = low,
                                            .loss = s->loss,
                                            .prob = s->prob};
    dg_bind(op, "dlogit", s->dlogit);
    dg_bind(op, "logit", s->logit);
    if (relative) dg_bind(op, "other", s->other);
    dg_bind_row(op, "ring", job->row[DG_ROW_METRICS]);
    dg_bind_row(op, "state", job->row[DG_ROW_STATE]);
}

/* N pictures as D sees them; where nothing is augmented, as they are. order: of the augmentations of a step. */
static dg_view add_augment(dg_builder *b, dg_job *job, dg_view pictures, int N, int order)
{
    const dg_model *m = &job->model;
    if (!job->o.augment) return pictures;
    const char *suffix = order ? ".g" : "";
    const dg_shape shape = {N, m->size, m->size, m->channels};
    const dg_view seen = {dg_work_row(b, DG_D, shape, "D.x.augmented%s", suffix), 0};
    dg_op *op = dg_plan_add(b->plan, DG_OP_augment, "D.x.augment%s", suffix);
    op->u.augment =
        (dg_augment_args){.N = N, .H = m->size, .W = m->size, .C = m->channels, .what = job->o.augment, .order = order};
    dg_bind(op, "y", seen);
    dg_bind(op, "x", pictures);
    dg_bind_row(op, "state", job->row[DG_ROW_STATE]);
    return seen;
}

/* And the gradient of what D saw back to the pictures. */
static dg_view add_augment_dx(dg_builder *b, dg_job *job, dg_view dy, int N, int order)
{
    const dg_model *m = &job->model;
    if (!job->o.augment) return dy;
    const dg_shape shape = {N, m->size, m->size, m->channels};
    const dg_view dx = {dg_work_row(b, DG_D, shape, "D.x.augment.dx"), 0};
    dg_op *op = dg_plan_add(b->plan, DG_OP_augment_dx, "D.x.augment.dx");
    op->u.augment =
        (dg_augment_args){.N = N, .H = m->size, .W = m->size, .C = m->channels, .what = job->o.augment, .order = order};
    dg_bind(op, "dx", dx);
    dg_bind(op, "dy", dy);
    dg_bind_row(op, "state", job->row[DG_ROW_STATE]);
    return dx;
}

static dg_op *add_noise(dg_job *job, dg_plan *plan, int z, int N, int stream)
{
    dg_op *op = dg_plan_add(plan, DG_OP_noise, "G.z");
    op->u.noise = (dg_noise_args){.n = (int64_t)N * job->model.latent, .stream = stream};
    dg_bind_row(op, "z", z);
    dg_bind_row(op, "state", job->row[DG_ROW_STATE]);
    return op;
}

static dg_view from(dg_view v, int64_t elements) { return (dg_view){v.row, v.offset + elements}; }

/* What the updated D says of the real pictures, which a relativistic loss of G wants to know. No gradient goes back
 * here, and D's running statistics, which have seen these pictures, stay. */
static dg_view see_real_again(dg_builder *b, dg_job *job, dg_view seen, int B)
{
    static const double none = 0;
    if (job->o.loss != DG_LOSS_RALSGAN) return nothing;
    dg_pass d = {
        .net = DG_D, .N = B, .groups = 1, .order = 2, .momentum = &none, .suffix = ".r", .in = seen, .target = nothing};
    dg_forward(b, &d);
    return d.out;
}

static void train_plan(dg_builder *b, dg_job *job, dg_plan_role role, int B)
{
    const dg_model *m = &job->model;
    const int S = m->size, C = m->channels;
    dg_plan *plan = b->plan = &job->plan[role];
    dg_plan_begin(plan, &job->arena, dg_plan_role_name[role]);

    const dg_view pictures = {dg_work_row(b, DG_D, (dg_shape){2 * B, S, S, C}, "D.x"), 0}; /* real, then fake */
    const dg_view fakes = from(pictures, (int64_t)B * S * S * C);
    const dg_view z = {dg_work_row(b, DG_G, (dg_shape){B, 1, 1, m->latent}, "G.z"), 0};
    job->input[role] = z.row;
    job->arena.row[z.row].keep = job->o.z_given;
    dg_add_gather(job, plan, "D.x.gather", pictures, nothing, B)->u.gather.flip = job->o.flip;
    if (!job->o.z_given) add_noise(job, plan, z.row, B, DG_STREAM_NOISE);

    /* D: real and fake in one batch, each with its own batch statistics */
    dg_pass g = {.net = DG_G, .N = B, .groups = 1, .suffix = "", .in = z, .target = fakes};
    dg_forward(b, &g);
    const dg_view seen = add_augment(b, job, pictures, 2 * B, 0);
    dg_pass d = {.net = DG_D, .N = 2 * B, .groups = 2, .suffix = "", .in = seen, .target = nothing};
    dg_forward(b, &d);
    dg_view dlogit = {dg_work_row(b, DG_D, (dg_shape){2 * B, 1, 1, 1}, "D.dlogit"), 0};
    const dg_view real = d.out, fake = from(d.out, B);
    add_loss(job, plan, &(loss_part){"real", real, dlogit, fake, B, true, false, DG_LOSS_D_REAL, DG_D_X});
    add_loss(job, plan, &(loss_part){"fake", fake, from(dlogit, B), real, B, false, false, DG_LOSS_D_FAKE, DG_D_GZ1});
    dg_backward(b, &d, dlogit, DG_WANT_WEIGHTS);
    dg_add_update(job, plan, DG_D, DG_BAD_D);

    /* G: through the updated D on the same fakes */
    const dg_view beside = see_real_again(b, job, seen, B);
    const dg_view again = add_augment(b, job, fakes, B, 1);
    d = (dg_pass){.net = DG_D, .N = B, .groups = 1, .order = 1, .suffix = ".g", .in = again, .target = nothing};
    dg_forward(b, &d);
    dlogit.row = dg_work_row(b, DG_D, (dg_shape){B, 1, 1, 1}, "D.dlogit.g");
    add_loss(job, plan, &(loss_part){"g", d.out, dlogit, beside, B, true, true, DG_LOSS_G, DG_D_GZ2});
    const dg_view dx = add_augment_dx(b, job, dg_backward(b, &d, dlogit, DG_WANT_INPUT), B, 1);
    dg_backward(b, &g, dx, DG_WANT_WEIGHTS);
    dg_add_update(job, plan, DG_G, DG_BAD_G);
    if (job->o.ema > 0) dg_add_average(job, plan, DG_G);
    dg_add_advance(job, plan, B);
}

/* With the averages in the place of G's weights and statistics. */
static dg_builder with_averages(const dg_builder *b, dg_plan *plan)
{
    dg_builder averaged = *b;
    averaged.plan = plan;
    for (int i = 0; i < b->model->net[DG_G].layers; i++) {
        dg_layer_rows *r = &averaged.rows[DG_G][i];
        memcpy(r->value, r->average, sizeof r->value);
    }
    return averaged;
}

/* Statistics that belong to averaged weights: means over BATCHES batches of z, always the same ones of a run, so that
 * they follow from the weights alone. The first batch takes the place of what was there. */
static void statistics_plan(const dg_builder *all, dg_job *job)
{
    enum { BATCHES = 8 };
    dg_plan *plan = &job->plan[DG_PLAN_STATISTICS];
    dg_builder b = with_averages(all, plan);
    dg_plan_begin(plan, &job->arena, dg_plan_role_name[DG_PLAN_STATISTICS]);
    for (int k = 0; k < BATCHES; k++) {
        char suffix[16];
        snprintf(suffix, sizeof suffix, ".s%d", k + 1);
        const double momentum = 1.0 / (k + 1);
        const dg_shape shape = {job->o.batch, 1, 1, job->model.latent};
        const dg_view z = {dg_work_row(&b, DG_G, shape, "G.z%s", suffix), 0};
        dg_op *op = add_noise(job, plan, z.row, job->o.batch, DG_STREAM_STATISTICS);
        op->u.noise.first_step = (uint64_t)k;
        dg_pass g = {.net = DG_G,
                     .N = job->o.batch,
                     .groups = 1,
                     .momentum = &momentum,
                     .suffix = suffix,
                     .in = z,
                     .target = nothing};
        dg_forward(&b, &g);
    }
}

static void sample_plan(dg_builder *b, dg_job *job, int N)
{
    dg_plan *plan = b->plan = &job->plan[DG_PLAN_SAMPLE];
    dg_plan_begin(plan, &job->arena, dg_plan_role_name[DG_PLAN_SAMPLE]);
    job->input[DG_PLAN_SAMPLE] = dg_keep(job, dg_work_row(b, DG_G, (dg_shape){N, 1, 1, job->model.latent}, "sample.z"));
    dg_pass p = {.net = DG_G,
                 .N = N,
                 .groups = 1,
                 .frozen = true,
                 .suffix = ".sample",
                 .in = {job->input[DG_PLAN_SAMPLE], 0},
                 .target = nothing};
    dg_forward(b, &p);
    job->values = dg_keep(job, p.out.row);
    const dg_shape shape = job->arena.row[job->values].shape;
    job->pixels = dg_keep(job, dg_arena_row(&job->arena, "sample.u8", DG_WORK, DG_G, DG_U8, shape));
    dg_op *op = dg_plan_add(plan, DG_OP_to_u8, "sample.to_u8");
    op->u.to_u8 = (dg_to_u8_args){.n = (int64_t)dg_count(shape)};
    dg_bind_row(op, "out", job->pixels);
    dg_bind_row(op, "x", job->values);
}

/* Append all rows and plans of a job whose model, options and backend are set. */
static void build_plans(dg_job *job)
{
    dg_builder b = dg_job_builder(job);
    for (int net = 0; net < (job->o.train ? 2 : 1); net++) {
        b.averaged = net == DG_G && job->o.train && job->o.ema > 0;
        dg_add_parameters(job, &b, net);
    }
    if (job->o.train) {
        dg_job_rows(job);
        b.state = job->row[DG_ROW_STATE];
        train_plan(&b, job, DG_PLAN_TRAIN, job->o.batch);
        if (job->o.last_batch) train_plan(&b, job, DG_PLAN_TRAIN_SHORT, job->o.last_batch);
    }
    const bool averaged = job->o.train && job->o.ema > 0;
    dg_builder shown = averaged ? with_averages(&b, NULL) : b;
    if (averaged) statistics_plan(&b, job);
    if (job->o.samples) sample_plan(&shown, job, job->o.samples);
}

/* ---- The recipe ---- */

enum { LOSSES, OUTPUTS, PARTS };
static const dg_recipe_plot plots[] = {[LOSSES] = {"Losses", "loss", 0},
                                       [OUTPUTS] = {"D(x) and D(G(z))", "mean of D's output", 1},
                                       [PARTS] = {"Parts of D's loss", "loss", 0}};

static const dg_metric metrics[] = {
    {.name = "loss_d",
     .terms = 2,
     .term = {DG_LOSS_D_REAL, DG_LOSS_D_FAKE},
     .label = "D",
     .plot = LOSSES,
     .legend = "D",
     .title = "Loss of D"},
    {.name = "loss_d_real",
     .terms = 1,
     .term = {DG_LOSS_D_REAL},
     .plot = PARTS,
     .legend = "real pictures",
     .bad = DG_NOT_FINITE,
     .what = "the loss of D on real pictures"},
    {.name = "loss_d_fake",
     .terms = 1,
     .term = {DG_LOSS_D_FAKE},
     .plot = PARTS,
     .legend = "generated pictures",
     .bad = DG_NOT_FINITE,
     .what = "the loss of D on fakes"},
    {.name = "loss_g",
     .terms = 1,
     .term = {DG_LOSS_G},
     .label = "G",
     .plot = LOSSES,
     .legend = "G",
     .title = "Loss of G",
     .bad = DG_NOT_FINITE,
     .what = "the loss of G"},
    {.name = "d_x",
     .terms = 1,
     .term = {DG_D_X},
     .kind = DG_METRIC_PROBABILITY,
     .label = "D(x)",
     .plot = OUTPUTS,
     .legend = "D(x)"},
    {.name = "d_gz1",
     .terms = 1,
     .term = {DG_D_GZ1},
     .kind = DG_METRIC_PROBABILITY,
     .label = "D(G(z))",
     .brief = "D(G)",
     .plot = OUTPUTS,
     .legend = "D(G(z)) before D's update"},
    {.name = "d_gz2",
     .terms = 1,
     .term = {DG_D_GZ2},
     .kind = DG_METRIC_PROBABILITY,
     .label = "/",
     .plot = OUTPUTS,
     .legend = "D(G(z)) after it"},
    {.terms = 1, .term = {DG_BAD_D}, .bad = DG_NOT_ZERO, .what = "weights of D are NaN or infinite after their update"},
    {.terms = 1, .term = {DG_BAD_G}, .bad = DG_NOT_ZERO, .what = "weights of G are NaN or infinite after their update"},
};

static dg_err check(const dg_model *model, const dg_job_options *o)
{
    dg_err e = check_model(model);
    if (e || !o) return e;
    const double pictures = o->train && 2 * (double)o->batch > o->samples ? 2 * (double)o->batch : o->samples;
    for (int net = 0; net < 2 && !e; net++) e = dg_check_sizes(model, net, o, pictures);
    return e;
}

bool dg_loss_parse(const char *text, dg_loss *out)
{
    static const char *const name[] = {"bce", "lsgan", "hinge", "ralsgan"};
    for (int k = 0; k < 4; k++)
        if (!strcmp(text, name[k])) {
            *out = (dg_loss)k;
            return true;
        }
    return false;
}

bool dg_augment_parse(const char *text, int *out)
{
    static const char *const name[] = {"color", "translation", "cutout"}; /* in the order of their bits */
    *out = 0;
    for (const char *at = text && strcmp(text, "none") ? text : ""; *at;) {
        const size_t n = strcspn(at, ",");
        int k = 0;
        while (k < 3 && (strlen(name[k]) != n || strncmp(at, name[k], n))) k++;
        if (k == 3 || (at[n] && !at[n + 1]) || *out & 1 << k) return false;
        *out |= 1 << k;
        at += n + (at[n] != 0);
    }
    return true;
}

void dg_gan_z(float *z, int latent, uint64_t seed, uint64_t picture)
{
    for (int i = 0; i < latent; i += 4) {
        float four[4];
        dg_normal4(four, seed, dg_subsequence(DG_STREAM_SAMPLE, picture), (uint64_t)i / 4);
        for (int k = i; k < latent && k < i + 4; k++) z[k] = four[k - i];
    }
}

const dg_recipe dg_gan_recipe = {
    .name = "GAN",
    .nets = 2,
    .net = {[DG_G] = {'G', "generator", 1}, [DG_D] = {'D', "discriminator", 3}},
    .exported = DG_G,
    .metrics = sizeof metrics / sizeof metrics[0],
    .metric = metrics,
    .plots = sizeof plots / sizeof plots[0],
    .plot = plots,
    .check = check,
    .build = build_plans,
    .sample = dg_gan_z,
};
