/* The table of sample metrics, and the image sets that metrics compare. */
#include "host/judge/judge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/rng.h"
#include "host/image/image.h"
#include "host/judge/judge_internal.h"
#include "host/judge/kid.h"

static dg_err frechet(const dg_jury *j, const dg_judged *reals, const dg_judged *other, dg_measured *out)
{
    return dg_frechet(reals->hidden, j->count, other->hidden, j->count, dg_labeller_features(j->labeller), &out->value);
}

#define LOGGED(id, in_json, for_people, ...) \
    {.name = in_json,                        \
     .label = for_people,                    \
     .needs = DG_NEEDS_RANDOM_NET,           \
     .logged = true,                         \
     .place = DG_BESIDE_##id,                \
     __VA_ARGS__},

const dg_measure dg_measures[] = {
    {.name = "class_distance",
     .label = "class distribution distance",
     .percent = true,
     .needs = DG_NEEDS_LABELLER,
     .compute = dg_judge_class_distance},
    {.name = "classes_left_out", .label = "missing classes", .needs = DG_NEEDS_LABELLER, .compute = dg_judge_left_out},
    {.name = "sureness",
     .label = "classifier confidence",
     .higher = true,
     .percent = true,
     .needs = DG_NEEDS_LABELLER,
     .compute = dg_judge_sureness},
    {.name = "frechet", .label = "Frechet distance, last hidden layer", .needs = DG_NEEDS_LABELLER, .compute = frechet},
    {.name = "two_sample",
     .label = "two-sample accuracy",
     .percent = true,
     .needs = DG_NEEDS_TRAINING,
     .compute = dg_judge_two_sample},
    DG_LOGGED_SWD(
        LOGGED){.name = "swd_full", .label = "  of full size", .needs = DG_NEEDS_RANDOM_NET, .place = DG_BESIDE_LEVEL},
    {.name = "swd_half", .label = "  of half the size", .needs = DG_NEEDS_RANDOM_NET, .place = DG_BESIDE_LEVEL + 1},
    {.name = "swd_quarter", .label = "  of a quarter", .needs = DG_NEEDS_RANDOM_NET, .place = DG_BESIDE_LEVEL + 2},
    {.name = "swd_eighth", .label = "  of an eighth", .needs = DG_NEEDS_RANDOM_NET, .place = DG_BESIDE_LEVEL + 3},
    {.name = "swd_sixteenth", .label = "  of a sixteenth", .needs = DG_NEEDS_RANDOM_NET, .place = DG_BESIDE_LEVEL + 4},
    DG_LOGGED_FRECHET(LOGGED) DG_LOGGED_RECALL(LOGGED) DG_LOGGED_COVERAGE(LOGGED) DG_LOGGED_NEAREST(LOGGED)
        DG_LOGGED_KID(LOGGED){0},
};

const dg_measure *dg_measure_logged(int column)
{
    const dg_measure *m = dg_measures;
    while (!m->logged || column-- > 0) m++;
    return m;
}

bool dg_measurable(const dg_measure *m, const dg_jury *j)
{
    const int level = m->compute ? -1 : m->place == DG_BESIDE_SWD ? 0 : m->place - DG_BESIDE_LEVEL;
    if (level >= 0 && level < DG_SLICED_LEVELS && !dg_sliced_level(j->size, level)) return false;
    return (j->labeller || !(m->needs & DG_NEEDS_LABELLER)) && (j->gan || !(m->needs & DG_NEEDS_TRAINING)) &&
           (j->random_net || !(m->needs & DG_NEEDS_RANDOM_NET));
}

dg_err dg_measure_take(const dg_measure *m, const dg_jury *j, const dg_judged *reals, const dg_judged *other,
                       dg_measured *out)
{
    *out = (dg_measured){0};
    const dg_err e = m->compute ? m->compute(j, reals, other, out) : DG_OK;
    if (!m->compute) *out = (dg_measured){.value = other->beside[m->place]};
    if (!m->compute && m->place == DG_BESIDE_KID) out->deviation = other->kid_deviation;
    if (e || (isfinite(out->value) && isfinite(out->low) && isfinite(out->high))) return e;
    return dg_fail(DG_NUMBERS, "%s is %g: the weights of the classifier are too large (overflow)", m->label,
                   out->value);
}

static dg_err fit(const dg_jury *j, const uint8_t *pixels, uint8_t *out)
{
    const dg_model *m = &j->labeller->model;
    const size_t bytes = dg_size_values(j->size, j->channels);
    dg_image im = {j->size.W, j->size.H, j->channels, malloc(bytes)}, fitted;
    if (!im.pixels) return dg_fail(DG_DEVICE, "out of memory");
    memcpy(im.pixels, pixels, bytes);
    if (m->channels < j->channels) dg_image_grey(&im);
    const dg_err e = dg_image_fit(&im, m->size, DG_FIT_STRETCH, DG_RESIZE_BILINEAR, &fitted);
    dg_image_free(&im);
    if (e) return e;
    const int repeat = m->channels / fitted.C;
    for (int i = 0; i < m->size.W * m->size.H * m->channels; i++) out[i] = fitted.pixels[i / repeat];
    dg_image_free(&fitted);
    return DG_OK;
}

static dg_err look_at(const dg_jury *j, const uint8_t *pixels, int n, uint8_t *fitted, double *share, double *hidden)
{
    const dg_model *m = &j->labeller->model;
    const size_t from = dg_size_values(j->size, j->channels), to = dg_size_values(m->size, m->channels);
    if (dg_same_size(m->size, j->size) && m->channels == j->channels)
        return dg_labeller_shares(j->labeller, pixels, n, share, hidden);
    dg_err e = DG_OK;
    for (size_t i = 0; i < (size_t)n && !e; i++) e = fit(j, pixels + i * from, fitted + i * to);
    return e ? e : dg_labeller_shares(j->labeller, fitted, n, share, hidden);
}

static dg_err look(const dg_jury *j, dg_judged *x)
{
    const dg_model *m = &j->labeller->model;
    const size_t count = (size_t)j->count, classes = (size_t)j->labeller->classes,
                 features = (size_t)dg_labeller_features(j->labeller), image = dg_size_values(j->size, j->channels);
    uint8_t *fitted = malloc((size_t)DG_LABELLER_CHUNK * dg_size_values(m->size, m->channels));
    x->share = malloc(count * classes * sizeof *x->share);
    x->hidden = malloc(count * features * sizeof *x->hidden);
    dg_err e = fitted && x->share && x->hidden ? DG_OK : dg_fail(DG_DEVICE, "out of memory for %d images", j->count);
    for (size_t i = 0; i < count && !e; i += DG_LABELLER_CHUNK) {
        const size_t n = count - i < DG_LABELLER_CHUNK ? count - i : DG_LABELLER_CHUNK;
        e = look_at(j, x->pixels + i * image, (int)n, fitted, x->share + i * classes, x->hidden + i * features);
        dg_progress_count(j->progress, "classifying images", (long)(i + n), j->count);
    }
    free(fitted);
    return e;
}

static dg_err look_at_random(const dg_jury *j, dg_judged *x)
{
    x->feature = malloc((size_t)j->count * DG_RANDOM_FEATURES * sizeof *x->feature);
    if (!x->feature) return dg_fail(DG_DEVICE, "out of memory for %d images", j->count);
    const dg_err e = dg_random_net_look(j->random_net, x->pixels, j->count, x->feature);
    return e ? e : dg_judged_neighbours(j, x);
}

static dg_err kid(const dg_jury *j, const dg_judged *reals, dg_judged *other)
{
    dg_kid k;
    const dg_err e = dg_kid_of(reals->feature, j->count, other->feature, j->count, DG_RANDOM_FEATURES, j->seed,
                               j->threads, &k);
    if (e) return e;
    other->beside[DG_BESIDE_KID] = k.value;
    other->kid_deviation = k.deviation;
    return DG_OK;
}

dg_err dg_judged_beside(const dg_jury *j, dg_judged *reals, const dg_judged *held, dg_judged *other)
{
    dg_err e = dg_beside_sliced(j, reals, other);
    if (!e) e = dg_beside_neighbours(j, reals, held, other);
    if (!e) e = kid(j, reals, other);
    if (!e && !reals->normal.mean) e = dg_normal_of(reals->feature, j->count, DG_RANDOM_FEATURES, &reals->normal);
    return e ? e : dg_frechet_from(&reals->normal, other->feature, j->count, &other->beside[DG_BESIDE_FRECHET]);
}

dg_err dg_judged_take(const dg_jury *j, const dg_images *images, int stream, int first, dg_judged *out)
{
    const size_t image = dg_size_values(j->size, j->channels);
    *out = (dg_judged){.pixels = malloc((size_t)j->count * image)};
    int32_t *order = malloc((size_t)images->count * sizeof *order);
    const bool room = out->pixels && order;
    dg_err e = room ? DG_OK : dg_fail(DG_DEVICE, "out of memory for %d images", images->count);
    if (room) dg_permutation_of(order, images->count, j->seed, dg_subsequence(DG_STREAM_JUDGE, (uint64_t)stream));
    for (int i = 0; i < j->count && !e; i++)
        e = dg_images_read(images, order[first + i], out->pixels + (size_t)i * image);
    free(order);
    if (!e && j->labeller) e = look(j, out);
    return e || !j->random_net ? e : look_at_random(j, out);
}

void dg_judged_free(dg_judged *x)
{
    free(x->pixels);
    free(x->share);
    free(x->hidden);
    free(x->feature);
    free(x->next);
    free(x->ball);
    free(x->near);
    free(x->reals_near);
    dg_normal_free(&x->normal);
    *x = (dg_judged){0};
}
