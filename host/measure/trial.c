#include "host/measure/trial.h"

#include <stdlib.h>

#include "core/base/clock.h"
#include "core/base/rng.h"
#include "host/options/options.h"

dg_err dg_trial_build(dg_trial *t, const dg_model *m, const dg_job_options *o, dg_backend *b, const dg_trial_images *p,
                      uint64_t seed)
{
    const size_t order = (size_t)p->steps * sizeof *p->order;
    uint8_t *records = NULL;
    *t = (dg_trial){.data = NULL};
    dg_err e = dg_job_build(&t->job, m, o, b);
    const size_t bytes = e ? 0 : (size_t)p->count * dg_job_record_bytes(&t->job);
    if (!e) e = dg_job_records(&t->job, p->pixels, NULL, p->count, &records);
    if (!e) e = b->alloc(b, bytes, &t->data);
    if (!e) e = b->alloc(b, order, &t->perm);
    if (!e) e = b->put(b, t->data, records, bytes);
    if (!e) e = b->put(b, t->perm, p->order, order);
    free(records);
    if (!e) e = dg_job_alloc(&t->job, t->data, t->perm);
    return e ? e : dg_job_init(&t->job, seed);
}

dg_err dg_trial_open(dg_trial *t, const dg_model *m, int batch, dg_backend *b)
{
    const int rows = batch * DG_TRIAL_STEPS;
    const size_t values = (size_t)batch * dg_size_values(m->size, m->channels);
    dg_job_options o;
    *t = (dg_trial){.data = NULL};
    dg_err e = dg_options_model_job(m, &o);
    if (e) return e;
    o.batch = o.rows = batch;
    uint8_t *pixels = malloc(values);
    int32_t *order = malloc((size_t)rows * sizeof *order);
    if (!pixels || !order) e = dg_fail(DG_DEVICE, "out of memory for a batch of images");
    for (int i = 0; i < rows && !e; i++) order[i] = i % batch;
    if (!e) dg_random_bytes(pixels, values, 1, dg_subsequence(DG_STREAM_SYNTH, 0));
    if (!e) e = dg_trial_build(t, m, &o, b, &(dg_trial_images){pixels, batch, order, rows}, 1);
    free(pixels);
    free(order);
    return e;
}

void dg_trial_close(dg_trial *t)
{
    dg_backend *b = t->job.backend;
    dg_job_free(&t->job);
    if (t->data) b->release(b, t->data);
    if (t->perm) b->release(b, t->perm);
    *t = (dg_trial){.data = NULL};
}

dg_err dg_trial_rewind(dg_trial *t)
{
    const dg_step_state s = {.seed = 1, .step = t->step, .lr = {2e-4, 2e-4}};
    return dg_job_put_state(&t->job, &s);
}

static dg_err finish(dg_trial *t, int n)
{
    dg_metrics m[DG_TRIAL_STEPS];
    dg_err e = dg_job_get_metrics(&t->job, t->step, n, m);
    char bad[160];
    for (int s = 0; s < n && !e; s++, t->step++)
        if (dg_recipe_bad(t->job.recipe, &m[s], bad, sizeof bad))
            e = dg_fail(DG_NUMBERS, "%s: step %llu computes values that are not finite: %s", t->job.model.name,
                        (unsigned long long)t->step, bad);
    return e;
}

dg_err dg_trial_steps(dg_trial *t, int n, double *ms)
{
    dg_backend *b = t->job.backend;
    dg_err e = dg_trial_rewind(t);
    if (!e) e = b->sync(b);
    const double start = dg_clock();
    if (!e) e = dg_job_steps(&t->job, t->job.o.batch, n);
    if (!e) e = b->sync(b);
    *ms = 1e3 * (dg_clock() - start) / n;
    return e ? e : finish(t, n);
}

dg_err dg_trial_ops(dg_trial *t, double *ms)
{
    dg_backend *b = t->job.backend;
    dg_err e = dg_trial_rewind(t);
    if (!e) e = b->time_plan(b, &t->job.plan[DG_PLAN_TRAIN], ms);
    return e ? e : finish(t, 1);
}
