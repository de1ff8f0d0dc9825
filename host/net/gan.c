/* The GAN recipe without its training step (gan_step.c): network checks, sampling plans and metrics. */
#include "host/net/gan.h"

#include <stdio.h>
#include <string.h>

#include "core/base/rng.h"
#include "host/net/job.h"
#include "host/net/layers/layers.h"
#include "host/net/penalty.h"
#include "host/net/recipe_parts.h"
#include "host/net/shards.h"

static const dg_view nothing = {-1, 0};

/* Refuse spectral norm in G, because EMA, sampling and export use G's stored weights without dividing by sigma. */
static dg_err check_norms(const dg_model *m, const dg_net *g)
{
    for (int i = 0; i < g->layers; i++)
        if (g->layer[i].norm == DG_NORM_SPECTRAL)
            return dg_layer_fail(&g->layer[i], m->where,
                                 "norm = spectral: not supported in the generator; use norm = batch or none");
    return DG_OK;
}

static dg_err check_end(const dg_model *m, int net, const dg_layer *last)
{
    const dg_shape want = net == DG_G ? dg_size_shape(1, m->size, m->channels) : (dg_shape){1, 1, 1, 1};
    const dg_shape is = last->out;
    const dg_layer *end = &m->net[net].layer[dg_layers_before_pick(&m->net[net]) - 1];
    if (is.H != want.H || is.W != want.W || is.C != want.C)
        return dg_layer_fail(last, m->where, "output is %d x %d x %d; the %s needs %d x %d x %d", is.W, is.H, is.C,
                             net == DG_G ? "generator" : "discriminator", want.W, want.H, want.C);
    if (net == DG_G && (last->norm || (last->act != DG_ACT_TANH && last->act != DG_ACT_NONE)))
        return dg_layer_fail(last, m->where,
                             DG_MSG("end-of-g", "is the last layer of G: needs norm = none, and act = tanh or none"));
    if (net == DG_D && (end->norm == DG_NORM_BATCH || end->act != DG_ACT_NONE || end->add >= 0))
        return dg_layer_fail(end, m->where, "is the last layer of D: needs norm = none or spectral, and act = none");
    return DG_OK;
}

static dg_err check_model(const dg_model *m)
{
    if (m->input != DG_INPUT_SIGNED)
        return dg_fail(DG_USAGE,
                       DG_MSG("zca-for-classifiers",
                              "%s: [model] input: applies to classifiers only; a GAN needs input = signed"),
                       m->where);
    for (int net = 0; net < 2; net++) {
        const dg_net *n = &m->net[net];
        if (n->latent != (net == DG_G))
            return dg_layer_fail(&n->layer[0], m->where, "in = %s: the %s needs in = %s",
                                 n->latent ? "latent" : "image", net == DG_G ? "generator" : "discriminator",
                                 n->latent ? "image" : "latent");
        dg_err e = dg_check_trainable(m, net);
        if (!e && net == DG_G) e = check_norms(m, n);
        if (!e) e = check_end(m, net, &n->layer[n->layers - 1]);
        if (e) return e;
    }
    return DG_OK;
}

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

/* Build the plan that recomputes the batch norm statistics for the averaged weights. Each run of the plan draws the
 * same z. Momentum 1 / (k + 1) makes the statistics means over BATCHES batches. */
static void statistics_plan(const dg_builder *all, dg_job *job)
{
    enum { BATCHES = 8 };
    dg_plan *plan = &job->plan[DG_PLAN_STATISTICS];
    dg_builder b = with_averages(all, plan);
    dg_plan_begin(plan, &job->arena, dg_plan_role_name[DG_PLAN_STATISTICS]);
    if (job->model.classes) {
        const dg_shape shape = {1, 1, 1, BATCHES * job->o.batch};
        job->class_labels = dg_keep(job, dg_arena_row(&job->arena, "statistics.label", DG_WORK, DG_G, DG_I32, shape));
    }
    for (int k = 0; k < BATCHES; k++) {
        char suffix[16];
        snprintf(suffix, sizeof suffix, ".s%d", k + 1);
        const double momentum = 1.0 / (k + 1);
        const dg_shape shape = {job->o.batch, 1, 1, job->model.latent};
        const dg_view z = {dg_work_row(&b, DG_G, shape, "G.z%s", suffix), 0};
        dg_op *op = dg_add_noise(job, plan, z.row, job->o.batch, DG_STREAM_STATISTICS);
        op->u.noise.first_step = (uint64_t)k;
        const dg_view label = {job->class_labels, (int64_t)k * job->o.batch};
        dg_pass g = {.net = DG_G,
                     .N = job->o.batch,
                     .groups = 1,
                     .momentum = &momentum,
                     .suffix = suffix,
                     .in = dg_add_onehot(&b, job, z, label, job->o.batch, suffix),
                     .target = nothing};
        dg_forward(&b, &g);
    }
}

static void sample_plan(dg_builder *b, dg_job *job, int N)
{
    dg_plan *plan = b->plan = &job->plan[DG_PLAN_SAMPLE];
    dg_plan_begin(plan, &job->arena, dg_plan_role_name[DG_PLAN_SAMPLE]);
    job->input[DG_PLAN_SAMPLE] =
        dg_keep(job,
                dg_work_row(b, DG_G, dg_batch_of(dg_net_input(&job->model, &job->model.net[DG_G]), N), "sample.z"));
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

static void build_plans(dg_job *job)
{
    dg_builder b = dg_job_builder(job);
    for (int net = 0; net < (job->o.train || job->o.all_nets ? 2 : 1); net++) {
        b.averaged = net == DG_G && job->o.train && dg_is_averaged(&job->o);
        dg_add_parameters(job, &b, net);
    }
    if (job->o.train) {
        dg_job_rows(job);
        b.state = job->row[DG_ROW_STATE];
        dg_shards *const shards = b.shards = dg_shards_open(&b, job);
        dg_gan_step(&b, job, DG_PLAN_TRAIN, job->o.batch);
        if (job->o.last_batch) dg_gan_step(&b, job, DG_PLAN_TRAIN_SHORT, job->o.last_batch);
        b.shards = NULL;
        dg_shards_close(shards);
    }
    const bool averaged = job->o.train && dg_is_averaged(&job->o);
    dg_builder shown = averaged ? with_averages(&b, NULL) : b;
    if (averaged) statistics_plan(&b, job);
    if (job->o.samples) sample_plan(&shown, job, job->o.samples);
}

enum { LOSSES, OUTPUTS, PARTS, GRADIENTS };
static const dg_recipe_plot plots[] = {[LOSSES] = {"Losses", 0},
                                       [OUTPUTS] = {"D(x) and D(G(z)), means of D's output", 1},
                                       [PARTS] = {"Parts of D's loss", 0},
                                       [GRADIENTS] = {"Gradient of D at the image, mean squared norm", 0}};

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
     .legend = "real images",
     .bad = DG_NOT_FINITE,
     .what = "the loss of D on real images"},
    {.name = "loss_d_fake",
     .terms = 1,
     .term = {DG_LOSS_D_FAKE},
     .plot = PARTS,
     .legend = "samples",
     .bad = DG_NOT_FINITE,
     .what = "the loss of D on samples"},
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
     .legend = "D(G(z)) after D's update"},
    {.terms = 1,
     .term = {DG_BAD_D},
     .bad = DG_NOT_ZERO,
     .what = "the weights of D are NaN or infinite after the update"},
    {.terms = 1,
     .term = {DG_BAD_G},
     .bad = DG_NOT_ZERO,
     .what = "the weights of G are NaN or infinite after the update"},
    {.name = "r1",
     .terms = 1,
     .term = {DG_R1},
     .plot = GRADIENTS,
     .legend = "real images",
     .bad = DG_NOT_FINITE,
     .what = "the gradient of D at real images"},
    {.name = "r2",
     .terms = 1,
     .term = {DG_R2},
     .plot = GRADIENTS,
     .legend = "samples",
     .bad = DG_NOT_FINITE,
     .what = "the gradient of D at samples"},
};
enum { METRICS = sizeof metrics / sizeof metrics[0], PLOTS = sizeof plots / sizeof plots[0] };

static dg_err check(const dg_model *model, const dg_job_options *o)
{
    dg_err e = check_model(model);
    if (e || !o) return e;
    if (dg_is_penalised(o)) e = dg_net_check_tangent(model, DG_D);
    const double images = o->train && 2 * (double)o->batch > o->samples ? 2 * (double)o->batch : o->samples;
    for (int net = 0; net < 2 && !e; net++) e = dg_check_sizes(model, net, o, images);
    return e;
}

bool dg_augment_parse(const char *text, int *out)
{
    static const char *const name[] = {"color", "translation", "cutout"};
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

void dg_gan_z(float *z, int latent, uint64_t seed, uint64_t image)
{
    for (int i = 0; i < latent; i += 4) {
        float four[4];
        dg_normal4(four, seed, dg_subsequence(DG_STREAM_SAMPLE, image), (uint64_t)i / 4);
        for (int k = i; k < latent && k < i + 4; k++) z[k] = four[k - i];
    }
}

#define RECIPE(fewer_metrics, fewer_plots)                                                                     \
    .name = "GAN", .nets = 2, .net = {[DG_G] = {'G', "generator", 1}, [DG_D] = {'D', "discriminator", 3}},     \
    .exported = DG_G, .metrics = METRICS - (fewer_metrics), .metric = metrics, .plots = PLOTS - (fewer_plots), \
    .plot = plots, .check = check, .build = build_plans, .sample = dg_gan_z

const dg_recipe dg_gan_recipe = {RECIPE(2, 1), .penalised = &dg_gan_penalised_recipe};
const dg_recipe dg_gan_penalised_recipe = {RECIPE(0, 0), .base = &dg_gan_recipe};
