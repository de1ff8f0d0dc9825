#include "host/infer/find.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "host/infer/fold.h"
#include "host/net/gan_find.h"
#include "host/net/gan_step.h"
#include "host/net/layers/layers.h"

/* The starts of an image are the POOL samples that are nearest to it. */
enum { POOL = 1024, SYNC = 50 };
static const double lr_end = 0.02;

struct dg_find {
    dg_generator *g;
    dg_find_options o;
    dg_model model;
    dg_job job;
    int rows; /* latents per batch */
    size_t image;
    int done, all; /* steps, for the progress */
    float *pool_z, *z;
    uint8_t *pool, *made;
    double *values, *distance;
};

static dg_err take_pool(dg_find *f)
{
    dg_err e = DG_OK;
    for (int i = 0; i < POOL && !e; i += DG_GENERATOR_CHUNK) {
        const size_t inputs = (size_t)f->g->inputs;
        float *z = f->pool_z + (size_t)i * inputs;
        for (size_t k = 0; k < DG_GENERATOR_CHUNK; k++)
            dg_job_sample(&f->g->job, z + k * inputs, f->g->info.seed, (uint64_t)i + k, -1);
        e = dg_generator_make(f->g, z, DG_GENERATOR_CHUNK, f->pool + (size_t)i * f->image, "seed", (uint64_t)i);
    }
    return e;
}

static dg_err allocate(dg_find *f)
{
    size_t most = f->image;
    for (int i = 0; i < f->model.net[DG_D].layers && f->model.nets > 1; i++) {
        const size_t n = dg_count(f->model.net[DG_D].layer[i].out);
        if (n > most) most = n;
    }
    const size_t inputs = (size_t)f->g->inputs;
    f->pool_z = malloc(POOL * inputs * sizeof *f->pool_z);
    f->pool = malloc(POOL * f->image);
    f->made = malloc(DG_GENERATOR_CHUNK * f->image);
    f->z = malloc(DG_GENERATOR_CHUNK * inputs * sizeof *f->z);
    f->distance = malloc(POOL * sizeof *f->distance);
    f->values = malloc((size_t)f->rows * (most > inputs ? most : inputs) * sizeof *f->values);
    return f->pool_z && f->pool && f->made && f->z && f->distance && f->values ? DG_OK
                                                                               : dg_fail(DG_DEVICE, "out of memory");
}

dg_err dg_find_open(dg_generator *g, const dg_find_options *o, int images, dg_find **out)
{
    dg_find *f = *out = calloc(1, sizeof *f);
    if (!f) return dg_fail(DG_DEVICE, "out of memory");
    f->g = g;
    f->o = *o;
    f->model = g->model;
    f->image = dg_size_values(g->model.size, g->model.channels);
    dg_fold_model(&f->model);
    f->model.net[DG_D].layers = dg_layers_before_pick(&f->model.net[DG_D]) - 1; /* without the layer of logits */
    f->model.nets = g->has_d && o->features > 0 && f->model.net[DG_D].layers > 0 ? 2 : 1;
    const int at_once = DG_GENERATOR_CHUNK / o->starts;
    f->rows = (images < at_once ? images : at_once) * o->starts;
    if (f->rows < 2) f->rows = 2; /* op mix needs two images */
    const dg_job_options job = {.batch = f->rows,
                                .rows = 1,
                                .recipe = &dg_find_recipe,
                                .beta1 = 0.9,
                                .beta2 = 0.999,
                                .eps = 1e-8,
                                .schedule = o->steps,
                                .lr_end = lr_end};
    dg_err e = dg_job_build(&f->job, &f->model, &job, g->backend);
    if (!e) e = dg_job_alloc(&f->job, NULL, NULL);
    for (int net = 0; net < f->model.nets && !e; net++) e = dg_fold_put(&g->job, &f->job, net);
    if (!e) e = allocate(f);
    return e ? e : take_pool(f);
}

void dg_find_close(dg_find *f)
{
    if (!f) return;
    dg_job_free(&f->job);
    free(f->pool_z);
    free(f->pool);
    free(f->made);
    free(f->z);
    free(f->distance);
    free(f->values);
    free(f);
}

bool dg_find_features(const dg_find *f) { return f->model.nets > 1; }

/* Returns the index of the row's image among n images. Rows after the last image repeat image 0. */
static int image_of(const dg_find *f, int row, int n) { return row / f->o.starts < n ? row / f->o.starts : 0; }

static void put_pixels(const dg_find *f, const uint8_t *pixels, int n, double sign)
{
    for (int r = 0; r < f->rows; r++) {
        const uint8_t *from = pixels + (size_t)image_of(f, r, n) * f->image;
        for (size_t i = 0; i < f->image; i++) f->values[(size_t)r * f->image + i] = sign * (from[i] / 127.5 - 1);
    }
}

/* Weights of a layer with n values: the pixels' mean squares and those of all layers then have the ratio o.features,
 * relative to the mean square of the target's output. */
static double weight_of(const dg_find *f, const double *features, size_t n)
{
    double squares = 0;
    for (size_t i = 0; i < n; i++) squares += features[i] * features[i];
    return squares > 0 ? f->o.features * (double)f->image / (squares * f->model.net[DG_D].layers) : 0;
}

static dg_err put_features(dg_find *f, const uint8_t *pixels, int n)
{
    dg_job *job = &f->job;
    const dg_net *d = &f->model.net[DG_D];
    const size_t rows = (size_t)f->rows;
    double *all[DG_MAX_LAYERS] = {NULL}, weight[DG_GENERATOR_CHUNK];
    put_pixels(f, pixels, n, 1);
    dg_err e = dg_job_put_values(job, dg_find_row(job, "find.image", -1), 0, f->values, rows * f->image);
    if (!e) e = job->backend->run(job->backend, &job->plan[DG_PLAN_TEST]);
    for (int i = 0; i < d->layers && !e; i++) {
        const size_t count = rows * dg_count(d->layer[i].out);
        if (!dg_find_compares(&f->model, i)) continue;
        all[i] = malloc(count * sizeof *all[i]);
        e = all[i] ? dg_job_get_values(job, dg_find_row(job, "find.f", i), count, all[i])
                   : dg_fail(DG_DEVICE, "out of memory");
    }
    for (int i = 0; i < d->layers && !e; i++) {
        const size_t each = dg_count(d->layer[i].out);
        if (!all[i]) continue;
        for (size_t r = 0; r < rows; r++) weight[r] = weight_of(f, all[i] + r * each, each);
        for (size_t k = 0; k < rows * each; k++) all[i][k] = -all[i][k];
        e = dg_job_put_values(job, dg_find_row(job, "find.target", i), 0, all[i], rows * each);
        if (!e) e = dg_job_put_values(job, dg_find_row(job, "find.weight", i), 0, weight, rows);
    }
    for (int i = 0; i < d->layers; i++) free(all[i]);
    return e;
}

static double squares_between(const uint8_t *a, const uint8_t *b, size_t n)
{
    int64_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        const int64_t difference = a[i] - b[i];
        sum += difference * difference;
    }
    return (double)sum;
}

/* Copy the `starts` nearest latents of the pool to z (starts, inputs). */
static void choose_starts(dg_find *f, const uint8_t *pixels, double *z)
{
    const size_t inputs = (size_t)f->g->inputs;
    for (size_t i = 0; i < POOL; i++) f->distance[i] = squares_between(pixels, f->pool + i * f->image, f->image);
    for (int s = 0; s < f->o.starts; s++) {
        size_t best = 0;
        for (size_t i = 1; i < POOL; i++)
            if (f->distance[i] < f->distance[best]) best = i;
        f->distance[best] = INFINITY;
        for (size_t k = 0; k < inputs; k++) *z++ = (double)f->pool_z[best * inputs + k];
    }
}

/* Classes of a conditional generator do not change. */
static dg_err put_mask(dg_find *f)
{
    if (!f->model.classes) return DG_OK;
    for (int i = 0; i < f->g->inputs; i++) f->values[i] = i < f->g->latent;
    return dg_job_put_values(&f->job, dg_find_row(&f->job, "find.mask", -1), 0, f->values, (size_t)f->g->inputs);
}

static dg_err begin(dg_find *f, const uint8_t *pixels, int n)
{
    static const char *const moments[] = {"find.m", "find.v"};
    dg_job *job = &f->job;
    const size_t values = (size_t)f->rows * (size_t)f->g->inputs;
    dg_err e = f->model.nets > 1 ? put_features(f, pixels, n) : DG_OK;
    if (!e) e = put_mask(f);
    put_pixels(f, pixels, n, -1);
    if (!e) e = dg_job_put_values(job, dg_find_row(job, "find.target", -1), 0, f->values, (size_t)f->rows * f->image);
    memset(f->values, 0, values * sizeof *f->values);
    for (int i = 0; i < 2 && !e; i++)
        e = dg_job_put_values(job, dg_find_row(job, moments[i], -1), 0, f->values, values);
    for (int i = 0; i < n && !e; i++)
        choose_starts(f, pixels + (size_t)i * f->image,
                      f->values + (size_t)i * (size_t)f->o.starts * (size_t)f->g->inputs);
    return e ? e : dg_job_put_values(job, dg_find_row(job, "find.z", -1), 0, f->values, values);
}

static dg_err descend(dg_find *f)
{
    dg_err e = DG_OK;
    for (int step = 0; step < f->o.steps && !e; step++) {
        const dg_step_state s = {.step = (uint64_t)step, .lr = {f->o.lr}};
        e = dg_job_put_scheduled(&f->job, &s, step, 1);
        if (!e) e = dg_job_steps(&f->job, f->rows, 1);
        f->done++;
        if (e || f->done % SYNC) continue;
        e = f->g->backend->sync(f->g->backend);
        if (f->o.progress) f->o.progress(f->o.context, f->done, f->all);
    }
    return e;
}

static double mean_difference(const uint8_t *a, const uint8_t *b, size_t n)
{
    int64_t sum = 0;
    for (size_t i = 0; i < n; i++) sum += abs(a[i] - b[i]);
    return (double)sum / (double)n;
}

/* Keep the start with the smallest error of each image. */
static dg_err finish(dg_find *f, const uint8_t *pixels, int n, float *z, uint8_t *found, double *error)
{
    const size_t inputs = (size_t)f->g->inputs;
    dg_err e = dg_job_get_values(&f->job, dg_find_row(&f->job, "find.z", -1), (size_t)f->rows * inputs, f->values);
    for (size_t i = 0; i < (size_t)f->rows * inputs && !e; i++) {
        f->z[i] = (float)f->values[i];
        if (!isfinite(f->z[i])) e = dg_fail(DG_NUMBERS, "a latent became %g: the weights are too large", f->values[i]);
    }
    if (!e) e = dg_generator_make(f->g, f->z, f->rows, f->made, "start", 0);
    for (int r = 0; r < n * f->o.starts && !e; r++) {
        const int i = r / f->o.starts;
        const uint8_t *image = f->made + (size_t)r * f->image;
        const double is = mean_difference(pixels + (size_t)i * f->image, image, f->image);
        if (r % f->o.starts && !(is < error[i])) continue;
        error[i] = is;
        memcpy(z + (size_t)i * inputs, f->z + (size_t)r * inputs, inputs * sizeof *z);
        memcpy(found + (size_t)i * f->image, image, f->image);
    }
    return e;
}

dg_err dg_find_images(dg_find *f, const uint8_t *pixels, int n, float *z, uint8_t *found, double *error)
{
    const int at_once = f->rows / f->o.starts > 1 ? f->rows / f->o.starts : 1;
    dg_err e = DG_OK;
    f->done = 0;
    f->all = (n + at_once - 1) / at_once * f->o.steps;
    for (int i = 0; i < n && !e; i += at_once) {
        const int here = n - i < at_once ? n - i : at_once;
        const uint8_t *from = pixels + (size_t)i * f->image;
        e = begin(f, from, here);
        if (!e) e = descend(f);
        if (!e)
            e = finish(f, from, here, z + (size_t)i * (size_t)f->g->inputs, found + (size_t)i * f->image, error + i);
    }
    return e;
}
