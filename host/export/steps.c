#include "host/export/steps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "host/infer/fold.h"
#include "host/net/gan_step.h"
#include "host/net/layers/layers.h"

static dg_err no_memory(const dg_generator *g)
{
    return dg_fail(DG_DEVICE, "out of memory for the weights of model %s", g->model.name);
}

/* Layers without weights have one input channel per group, so that the sizes of all steps are defined. */
static dg_err kind_of(const dg_layer *l, dg_step *s)
{
    static const struct {
        const dg_layer_kind *layer;
        dg_step_kind step;
    } kinds[] = {{&dg_layer_conv, DG_STEP_CONV},
                 {&dg_layer_conv_transpose, DG_STEP_CONV_TRANSPOSE},
                 {&dg_layer_dense, DG_STEP_CONV},
                 {&dg_layer_max_pool, DG_STEP_MAX_POOL},
                 {&dg_layer_mean_pool, DG_STEP_MEAN_POOL},
                 {&dg_layer_dropout, DG_STEP_COPY},
                 {&dg_layer_add, DG_STEP_COPY},
                 {&dg_layer_resample, DG_STEP_DOUBLE}};
    const size_t n = sizeof kinds / sizeof *kinds;
    size_t i = 0;
    while (i < n && kinds[i].layer != l->kind) i++;
    if (i == n)
        return dg_fail(DG_FAILED, "layer %s: op = %s has no kind in an exported page or C file", l->name,
                       l->kind->name);
    s->kind = kinds[i].step;
    if (s->kind == DG_STEP_DOUBLE && l->out.H < l->in.H) s->kind = DG_STEP_HALVE;
    const bool windows = s->kind < DG_STEP_DOUBLE;
    s->l = l;
    s->kernel = windows ? l->kernel : dg_square(1);
    s->stride = windows ? l->stride : 1;
    s->pad = windows ? l->pad : 0;
    s->groups = s->kind == DG_STEP_CONV && l->groups > 1 ? l->groups : 1;
    return DG_OK;
}

static dg_err read_step(dg_generator *g, int i, dg_step *s)
{
    const dg_layer *l = &g->model.net[DG_G].layer[i];
    dg_err e = kind_of(l, s);
    if (e) return e;
    double *bias = calloc((size_t)l->out.C, sizeof *bias);
    e = bias ? dg_fold_read(&g->job, DG_G, i, &s->w, bias) : no_memory(g);
    bool any = false;
    for (int c = 0; bias && c < l->out.C; c++) any |= bias[c] != 0;
    if (any && !e) s->bias = bias;
    else free(bias);
    return e;
}

dg_err dg_steps_read(dg_generator *g, dg_steps **out)
{
    dg_steps *s = *out = calloc(1, sizeof *s);
    dg_err e = s ? DG_OK : no_memory(g);
    const dg_net *n = &g->model.net[DG_G];
    for (; !e && s->steps < n->layers; s->steps++) e = read_step(g, s->steps, &s->step[s->steps]);
    return e;
}

void dg_steps_free(dg_steps *s)
{
    for (int i = 0; s && i < DG_MAX_LAYERS; i++) {
        free(s->step[i].w);
        free(s->step[i].bias);
    }
    free(s);
}

size_t dg_step_products(const dg_step *s) { return dg_size_values(s->kernel, s->l->in.C / s->groups); }

dg_err dg_steps_compare(dg_generator *g, const dg_steps *s, dg_weight_error *out)
{
    enum { SAMPLES = 16, BATCH = 8 };
    dg_job job = {0};
    dg_model *m = malloc(sizeof *m);
    const size_t bytes = SAMPLES * dg_size_values(g->model.size, g->model.channels);
    uint8_t *pixels = malloc(2 * bytes), *coded = pixels ? pixels + bytes : NULL;
    float *in = malloc(SAMPLES * (size_t)g->inputs * sizeof *in);
    dg_err e = m && pixels && in ? DG_OK : no_memory(g);
    if (!e) {
        *m = g->model;
        dg_fold_model(m);
        e = dg_job_build(&job, m, &(dg_job_options){.samples = BATCH}, g->backend);
    }
    if (!e) e = dg_job_alloc(&job, NULL, NULL);
    if (!e) e = dg_fold_put(&g->job, &job, DG_G);
    for (int i = 0; i < SAMPLES && !e; i++)
        dg_job_sample(&g->job, in + (size_t)i * (size_t)g->inputs, g->info.seed, (uint64_t)i, -1);
    if (!e) e = dg_job_generate(&job, in, SAMPLES, pixels, NULL);
    for (int i = 0; i < s->steps && !e; i++) e = dg_fold_write(&job, DG_G, i, s->step[i].w, s->step[i].bias);
    if (!e) e = dg_job_generate(&job, in, SAMPLES, coded, NULL);
    *out = (dg_weight_error){.samples = SAMPLES};
    for (size_t i = 0; i < bytes && !e; i++) {
        const double error = abs(pixels[i] - coded[i]);
        out->mean += error / (double)bytes;
        if (error > out->most) out->most = error;
    }
    dg_job_free(&job);
    free(in);
    free(pixels);
    free(m);
    return e;
}
