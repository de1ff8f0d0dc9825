#include "host/net/gan.h"

#include "core/base/rng.h"
#include "host/net/gan_build.h"

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

/* What a batch size can do to a model: counts that an int cannot hold, norms over a single value. */
static dg_err check_sizes(const dg_model *model, const dg_job_options *o)
{
    double pictures = o->train && 2 * (double)o->batch > o->samples ? 2 * (double)o->batch : o->samples;
    int least = o->last_batch ? o->last_batch : o->batch;
    for (int net = 0; net < 2; net++) {
        for (int i = 0; i < model->net[net].layers; i++) {
            const dg_layer *l = &model->net[net].layer[i];
            double n = (double)dg_count(l->out) * pictures;
            if (n > 1 << 28)
                return dg_fail(DG_USAGE,
                               "{batch} %d: layer %s of model %s would have %.0f million values; use a smaller batch",
                               o->batch, l->name, model->name, n / 1e6);
            if (o->train && l->norm && least * l->out.H * l->out.W < 2)
                return dg_fail(DG_USAGE,
                               "layer %s of model %s: batch norm over a batch of %d needs more than one value a "
                               "channel; use another {batch} or {drop-last}",
                               l->name, model->name, least);
        }
    }
    return DG_OK;
}

static dg_err check(const dg_model *model, const dg_job_options *o)
{
    const dg_err e = dg_gan_check_model(model);
    return e || !o ? e : check_sizes(model, o);
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
    .build = dg_gan_build_plans,
    .sample = dg_gan_z,
};
