/* Classifier two-sample test (Lopez-Paz & Oquab 2017): D's layers are trained on half of the images, and classify
 * the other half. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/judge/judge_internal.h"
#include "host/net/gan.h"
#include "host/net/layers/layers.h"
#include "host/trainer/evaluate.h"
#include "host/trainer/steps.h"

enum { STEPS = 1000, AT_ONCE = 20, BATCH = 64 };

dg_err dg_judge_takes(const dg_model *gan)
{
    const dg_net *d = gan->nets > DG_D ? &gan->net[DG_D] : NULL;
    if (!d || strcmp(d->name, "D") != 0 || d->latent)
        return dg_fail(DG_USAGE, "%s: has no discriminator D for the two-sample test", gan->where);
    const dg_layer *last = &d->layer[dg_layers_before_pick(d) - 1];
    if (!(last->kind->takes & DG_KEY(FILTERS)) || last->add >= 0)
        return dg_layer_fail(
            last, gan->where,
            "the two-sample test changes the last layer of D to two logits; this layer must be a convolution, not %s",
            last->add >= 0 ? "a sum" : last->kind->name);
    return DG_OK;
}

static dg_err judge_of(const dg_model *gan, dg_model *out)
{
    const dg_err e = dg_judge_takes(gan);
    if (e) return e;
    const dg_net *d = &gan->net[DG_D];
    *out = *gan;
    out->nets = 1;
    out->classes = 0;
    out->net[0] = *d;
    out->net[0].layers = dg_layers_before_pick(d);
    snprintf(out->net[0].name, sizeof out->net[0].name, "C");
    for (int i = 0; i < out->net[0].layers; i++) out->net[0].layer[i].name[0] = 'C';
    dg_layer *last = &out->net[0].layer[out->net[0].layers - 1];
    last->filters = last->out.C = 2;
    return DG_OK;
}

typedef struct {
    const dg_jury *jury;
    const dg_judged *set[2]; /* images of class 0 (real) and class 1 (compared) */
    dg_model model;
    dg_job job;
    dg_trainer trainer;
    uint8_t *pixels; /* pixels of both sets, consecutive */
    int32_t *label;
} trial;

static void take(trial *t, int first, int count)
{
    const dg_jury *j = t->jury;
    const size_t image = dg_size_values(j->size, j->channels), half = (size_t)count * image;
    for (int k = 0; k < 2; k++) memcpy(t->pixels + (size_t)k * half, t->set[k]->pixels + (size_t)first * image, half);
    for (int i = 0; i < 2 * count; i++) t->label[i] = i >= count;
}

static dg_err train(trial *t, int count)
{
    const dg_jury *j = t->jury;
    const dg_job_options o = {.batch = count < BATCH ? count : BATCH,
                              .tested = BATCH,
                              .train = true,
                              .beta1 = 0.9,
                              .beta2 = 0.999,
                              .eps = 1e-8,
                              .start = DG_START_HE};
    dg_err e = dg_trainer_open(&t->trainer, &t->job, &t->model, &o, j->backend, t->pixels, t->label, count, true,
                               j->seed);
    t->trainer.lr = 0.001;
    if (!e) e = dg_job_init(&t->job, j->seed);
    for (int i = 0; i < STEPS && !e; i += AT_ONCE) {
        e = dg_trainer_steps(&t->trainer, AT_ONCE);
        dg_progress_count(j->progress, "two-sample test: training step", i + AT_ONCE, STEPS);
    }
    return e;
}

static dg_err test(trial *t, int count, dg_evaluation *out)
{
    const dg_jury *j = t->jury;
    const size_t image = dg_size_values(j->size, j->channels);
    const dg_training_records records = {.images = dg_images_of(t->pixels, count, image),
                                         .label = t->label,
                                         .bytes = dg_job_record_bytes(&t->job),
                                         .count = count};
    return dg_evaluate(&t->job, &records, 0, t->label, count, out);
}

/* Set out to the share and its 95% confidence interval by Wilson's formula. `n` is the number of images. */
static void put_interval(dg_measured *out, double share, double n)
{
    const double z = 1.959963984540054, scale = 1 / (1 + z * z / n), centre = share + z * z / (2 * n),
                 reach = z * sqrt(share * (1 - share) / n + z * z / (4 * n * n));
    *out = (dg_measured){.value = share, .low = scale * (centre - reach), .high = scale * (centre + reach)};
}

static dg_err try_it(trial *t, dg_measured *out)
{
    const dg_jury *j = t->jury;
    const int half = j->count / 2, rest = j->count - half;
    const size_t most = 2 * (size_t)rest;
    dg_evaluation v;
    t->pixels = malloc(most * dg_size_values(j->size, j->channels));
    t->label = malloc(most * sizeof *t->label);
    if (!t->pixels || !t->label) return dg_fail(DG_DEVICE, "out of memory for %d images", j->count);
    take(t, 0, half);
    dg_err e = train(t, 2 * half);
    take(t, half, rest);
    if (!e) e = test(t, 2 * rest, &v);
    if (e) return e;
    put_interval(out, v.accuracy, v.n);
    dg_evaluation_free(&v);
    return DG_OK;
}

dg_err dg_judge_two_sample(const dg_jury *j, const dg_judged *reals, const dg_judged *other, dg_measured *out)
{
    trial *t = calloc(1, sizeof *t);
    if (!t) return dg_fail(DG_DEVICE, "out of memory");
    t->jury = j;
    t->set[0] = reals;
    t->set[1] = other;
    dg_err e = judge_of(j->gan, &t->model);
    if (!e) e = try_it(t, out);
    dg_trainer_close(&t->trainer);
    dg_job_free(&t->job);
    free(t->label);
    free(t->pixels);
    free(t);
    return e;
}
