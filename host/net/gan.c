/* The GAN: what its two networks must be like, the ops of a training step and of sampling, and its row of recipes. */
#include "host/net/gan.h"

#include <stdio.h>
#include <string.h>

#include "core/base/rng.h"
#include "host/net/job.h"
#include "host/net/layers/layers.h"
#include "host/net/recipe_parts.h"

static const dg_view nothing = {-1, 0};

static dg_err check_end(const dg_model *m, int net, const dg_layer *last)
{
    const dg_shape want = net == DG_G ? (dg_shape){1, m->size, m->size, m->channels} : (dg_shape){1, 1, 1, 1};
    const dg_shape is = last->out;
    if (is.H != want.H || is.W != want.W || is.C != want.C)
        return dg_layer_fail(last, m->where, "ends in %d x %d x %d; the %s must end in %d x %d x %d", is.H, is.W, is.C,
                             net == DG_G ? "generator" : "discriminator", want.H, want.W, want.C);
    if (net == DG_G && (last->norm || last->act != DG_ACT_TANH))
        return dg_layer_fail(last, m->where, "is the generator's last layer: it needs norm = none and act = tanh");
    if (net == DG_D && (last->norm || last->act != DG_ACT_NONE))
        return dg_layer_fail(last, m->where, "gives the logit: it needs norm = none and act = none");
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
        if (!e) e = check_end(m, net, &n->layer[n->layers - 1]);
        if (e) return e;
    }
    return DG_OK;
}

/* args: how many logits, their target, and the metrics to write. */
static void add_bce(dg_job *job, dg_plan *plan, const char *name, dg_view logit, dg_view dlogit, dg_bce_args args)
{
    dg_op *op = dg_plan_add(plan, DG_OP_bce, "%s", name);
    op->u.bce = args;
    dg_bind(op, "dlogit", dlogit);
    dg_bind(op, "logit", logit);
    dg_bind_row(op, "ring", job->row[DG_ROW_METRICS]);
    dg_bind_row(op, "state", job->row[DG_ROW_STATE]);
}

static void add_noise(dg_job *job, dg_plan *plan, int z, int N, int stream)
{
    dg_op *op = dg_plan_add(plan, DG_OP_noise, "G.z");
    op->u.noise = (dg_noise_args){.n = (int64_t)N * job->model.latent, .stream = stream};
    dg_bind_row(op, "z", z);
    dg_bind_row(op, "state", job->row[DG_ROW_STATE]);
}

static dg_view from(dg_view v, int64_t elements) { return (dg_view){v.row, v.offset + elements}; }

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
    dg_pass d = {.net = DG_D, .N = 2 * B, .groups = 2, .suffix = "", .in = pictures, .target = nothing};
    dg_forward(b, &d);
    dg_view dlogit = {dg_work_row(b, DG_D, (dg_shape){2 * B, 1, 1, 1}, "D.dlogit"), 0};
    add_bce(job, plan, "D.bce.real", d.out, dlogit,
            (dg_bce_args){.n = B, .target = 1, .loss = DG_LOSS_D_REAL, .prob = DG_D_X});
    add_bce(job, plan, "D.bce.fake", from(d.out, B), from(dlogit, B),
            (dg_bce_args){.n = B, .target = 0, .loss = DG_LOSS_D_FAKE, .prob = DG_D_GZ1});
    dg_backward(b, &d, dlogit, DG_WANT_WEIGHTS);
    dg_add_update(job, plan, DG_D, DG_BAD_D);

    /* G: through the updated D on the same fakes */
    d = (dg_pass){.net = DG_D, .N = B, .groups = 1, .order = 1, .suffix = ".g", .in = fakes, .target = nothing};
    dg_forward(b, &d);
    dlogit.row = dg_work_row(b, DG_D, (dg_shape){B, 1, 1, 1}, "D.dlogit.g");
    add_bce(job, plan, "D.bce.g", d.out, dlogit,
            (dg_bce_args){.n = B, .target = 1, .loss = DG_LOSS_G, .prob = DG_D_GZ2});
    dg_backward(b, &g, dg_backward(b, &d, dlogit, DG_WANT_INPUT), DG_WANT_WEIGHTS);
    dg_add_update(job, plan, DG_G, DG_BAD_G);
    dg_add_advance(job, plan, B);
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
    for (int net = 0; net < (job->o.train ? 2 : 1); net++) dg_add_parameters(job, &b, net);
    if (job->o.train) {
        dg_job_rows(job);
        b.state = job->row[DG_ROW_STATE];
        train_plan(&b, job, DG_PLAN_TRAIN, job->o.batch);
        if (job->o.last_batch) train_plan(&b, job, DG_PLAN_TRAIN_SHORT, job->o.last_batch);
    }
    if (job->o.samples) sample_plan(&b, job, job->o.samples);
}

/* ---- The recipe ---- */

enum { LOSSES, OUTPUTS, PARTS };
static const dg_recipe_plot plots[] = {[LOSSES] = {"Losses", "cross entropy", 0},
                                       [OUTPUTS] = {"D(x) and D(G(z))", "mean of D's output", 1},
                                       [PARTS] = {"Parts of D's loss", "cross entropy", 0}};

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
