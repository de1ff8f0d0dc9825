#include "host/infer/generator.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/files/replace.h"

static dg_err hash_weights(dg_generator *g, uint64_t *hash)
{
    uint64_t h = 0xcbf29ce484222325;
    for (int i = 0; i < g->job.tensors; i++) {
        const dg_job_tensor *t = &g->job.tensor[i];
        const size_t n = dg_job_tensor_count(t);
        if (t->row < 0 || t->net != g->job.recipe->exported) continue;
        uint32_t *bits = malloc(n * sizeof *bits);
        const dg_err e = bits ? dg_job_read(&g->job, t, t->row, DG_F32, bits) : dg_fail(DG_DEVICE, "out of memory");
        for (size_t k = 0; k < n && !e; k++) h = (h ^ bits[k]) * 0x100000001b3;
        free(bits);
        if (e) return e;
    }
    *hash = h;
    return DG_OK;
}

static dg_err name_origin(dg_generator *g)
{
    uint64_t hash = 0;
    const dg_err e = hash_weights(g, &hash);
    snprintf(g->origin, sizeof g->origin, "%.100s, step %" PRIu64 ", weights %016" PRIx64, g->model.name, g->info.step,
             hash);
    for (char *c = g->origin; *c; c++)
        if (*c < ' ' || *c > '~') *c = '_'; /* a tEXt chunk must consist of printable characters */
    return e;
}

dg_err dg_generator_load(dg_generator *g, const dg_st *st, const char *path)
{
    const char *format = dg_st_get(st, "format");
    g->has_d = g->all_nets && format && !strcmp(format, DG_CHECKPOINT_FORMAT);
    dg_job_options go = {.samples = DG_GENERATOR_CHUNK, .all_nets = g->has_d};
    dg_err e = dg_job_build(&g->job, &g->model, &go, g->backend);
    if (!e && !g->job.plan[DG_PLAN_SAMPLE].ops)
        e = dg_fail(DG_USAGE, DG_MSG("no-images", "%s: model %s has no generator"), path, g->model.name);
    if (!e) g->latent = g->model.latent;
    if (!e) g->inputs = dg_job_inputs(&g->job);
    if (!e && g->info.class_images) e = dg_job_set_classes(&g->job, g->info.class_images);
    if (!e) e = dg_job_alloc(&g->job, NULL, NULL);
    if (!e) e = dg_checkpoint_load(st, path, &g->job);
    return e ? e : name_origin(g);
}

static dg_err open_with(const dg_device *d, const char *path, bool all_nets, dg_generator **out)
{
    dg_generator *g = *out = calloc(1, sizeof *g);
    if (!g) return dg_fail(DG_DEVICE, "out of memory");
    g->all_nets = all_nets;
    dg_st *st = NULL;
    dg_err e = dg_checkpoint_open(path, &st, &g->model, &g->info);
    if (!e) e = dg_device_open_trained(d, g->info.precision, &g->backend);
    if (!e) e = dg_generator_load(g, st, path);
    dg_st_free(st);
    return e;
}

dg_err dg_generator_open(const dg_device *d, const char *path, dg_generator **out)
{
    return open_with(d, path, false, out);
}

dg_err dg_generator_open_all(const dg_device *d, const char *path, dg_generator **out)
{
    return open_with(d, path, true, out);
}

void dg_generator_z(const dg_generator *g, float *z, uint64_t first, int n)
{
    for (int i = 0; i < n; i++)
        g->job.recipe->sample(z + (size_t)i * (size_t)g->latent, g->latent, g->info.seed, first + (uint64_t)i);
}

void dg_generator_input(const dg_generator *g, float *in, const float *z, int class)
{
    memcpy(in, z, (size_t)g->latent * sizeof *in);
    for (int i = g->latent; i < g->inputs; i++) in[i] = i - g->latent == class ? 1.0F : 0;
}

dg_err dg_generator_make(dg_generator *g, const float *in, int n, uint8_t *pixels, const char *what, uint64_t first)
{
    const size_t each = dg_size_values(g->model.size, g->model.channels), all = (size_t)n * each;
    double *x = malloc(all * sizeof *x);
    if (!x) return dg_fail(DG_DEVICE, "out of memory for %d images", n);
    dg_err e = dg_job_generate(&g->job, in, n, pixels, x);
    for (size_t i = 0; i < all && !e; i++)
        if (!isfinite(x[i]))
            e = dg_fail(DG_NUMBERS,
                        "%s %" PRIu64
                        ": value %zu of the image of model %s is %g: the weights are finite, but too large for %s",
                        what, first + i / each, i % each, g->model.name, x[i],
                        dg_precision_name(g->backend->real, g->backend->math));
    free(x);
    return e;
}

dg_err dg_generator_images(dg_generator *g, uint64_t first, int n, int class, uint8_t *pixels, const char *what)
{
    const size_t each = dg_size_values(g->model.size, g->model.channels);
    float *in = malloc((size_t)DG_GENERATOR_CHUNK * (size_t)g->inputs * sizeof *in);
    dg_err e = in ? DG_OK : dg_fail(DG_DEVICE, "out of memory for %d images", n);
    for (int i = 0; i < n && !e; i += DG_GENERATOR_CHUNK) {
        const int count = n - i < DG_GENERATOR_CHUNK ? n - i : DG_GENERATOR_CHUNK;
        for (int k = 0; k < count; k++)
            dg_job_sample(&g->job, in + (size_t)k * (size_t)g->inputs, g->info.seed, first + (uint64_t)(i + k), class);
        e = dg_generator_make(g, in, count, pixels + (size_t)i * each, what, first + (uint64_t)i);
    }
    free(in);
    return e;
}

void dg_generator_close(dg_generator *g)
{
    if (!g) return;
    dg_job_free(&g->job);
    if (g->backend) g->backend->close(g->backend);
    dg_checkpoint_info_free(&g->info);
    free(g);
}
