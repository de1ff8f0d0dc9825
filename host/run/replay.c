#include "host/run/replay.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/net/recipe.h"

static double relative(const double *a, const double *b, size_t n)
{
    double difference = 0, size = 0;
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(a[i]) || !isfinite(b[i])) return NAN;
        difference = fmax(difference, fabs(a[i] - b[i]));
        size = fmax(size, fabs(b[i]));
    }
    return size > 0 ? difference / size : difference;
}

static dg_err play(const dg_oracle *o, dg_job *job, int s, int32_t *perm, dg_metrics *m)
{
    dg_backend *b = job->backend;
    int n = dg_oracle_batch(o, s);
    const int64_t *row = dg_oracle_index(o, s);
    int32_t host[65536];
    host[0] = 0; /* avoids a compiler warning for n = 0 */
    for (int i = 0; i < n; i++) host[i] = (int32_t)row[i];
    dg_err e = b->put(b, perm, host, (size_t)n * sizeof *host);
    const size_t latents = (size_t)o->model.latent;
    const double *z = o->z ? (const double *)o->z->data + (size_t)s * (size_t)o->batch * latents : NULL;
    const dg_plan_role plan = n == job->o.batch ? DG_PLAN_TRAIN : DG_PLAN_TRAIN_SHORT;
    if (!e && z) e = dg_job_put_input(job, plan, 0, z, (size_t)n * latents);
    dg_step_state state = {.seed = 1, .step = (uint64_t)s, .cursor = 0};
    for (int i = 0; i < DG_NETS_MAX; i++) state.lr[i] = o->lr;
    double shown = 0;
    for (int i = 0; i < s; i++) shown += dg_oracle_batch(o, i);
    if (!e) e = dg_job_put_scheduled(job, &state, shown, n);
    if (!e) e = dg_job_step(job, n);
    if (!e) e = dg_job_get_metrics(job, (uint64_t)s, 1, m);
    return e;
}

static dg_err compare(const dg_oracle *o, dg_job *job, const dg_replay_report *r, const char *prefix,
                      const dg_job_tensor *t, int row)
{
    char name[160];
    snprintf(name, sizeof name, "%s%s", prefix, t->name);
    if (!dg_st_find(o->st, name)) return DG_OK;
    int64_t dim[4];
    const size_t n = dg_job_tensor_count(t);
    const int rank = dg_job_tensor_shape(t, dim);
    const dg_st_tensor *expected = dg_st_find(o->st, name);
    if (expected->type != DG_F64 && expected->type != DG_F32)
        return dg_fail(DG_USAGE, "%s: %s is neither F64 nor F32", o->path, name);
    expected = dg_oracle_tensor(o, name, expected->type, rank, dim);
    if (!expected) return DG_USAGE;
    double *ours = malloc(2 * n * sizeof *ours);
    if (!ours) return dg_fail(DG_DEVICE, "out of memory");
    double *theirs = ours + n;
    dg_err e = dg_job_read(job, t, row, DG_F64, ours);
    for (size_t i = 0; i < n; i++)
        theirs[i] = expected->type == DG_F64 ? ((const double *)expected->data)[i]
                                             : (double)((const float *)expected->data)[i];
    if (!e) r->compared(r->context, name + strlen("expect."), relative(ours, theirs, n), "");
    free(ours);
    return e;
}

static bool is_recorded(const dg_metric *m) { return m->name && m->terms == 1 && m->over != DG_OVER_TEST; }

static dg_err compare_metric(const dg_oracle *o, const dg_replay_report *r, const dg_metric *k, const dg_metrics *m,
                             int steps)
{
    char name[64], where[64];
    snprintf(name, sizeof name, "expect.%s", k->name);
    const dg_st_tensor *t = dg_oracle_tensor(o, name, DG_F64, 1, (int64_t[]){o->steps});
    if (!t) return DG_USAGE;
    double worst = -1;
    int at = 0;
    for (int s = 0; s < steps; s++) {
        const double ours = dg_metric_value(k, m[s].value), d = relative(&ours, (const double *)t->data + s, 1);
        if (d <= worst) continue;
        worst = d;
        at = s;
        if (isnan(d)) break;
    }
    snprintf(where, sizeof where, "worst step %d", at);
    r->compared(r->context, k->name, worst, where);
    return DG_OK;
}

/* Sample i has the latent and the label of image i in step 0. */
static void sample_input(const dg_oracle *o, int i, float *in)
{
    const int latent = o->model.latent;
    const double *z = (const double *)o->z->data + (size_t)i * (size_t)latent;
    for (int k = 0; k < latent; k++) in[k] = (float)z[k];
    if (o->labels) in[latent + ((const int64_t *)o->labels->data)[dg_oracle_index(o, 0)[i]]] = 1;
}

static dg_err compare_sample(const dg_oracle *o, dg_job *job, const dg_replay_report *r)
{
    const dg_st_tensor *t = dg_st_find(o->st, "expect.sample");
    const int W = o->model.size.W, H = o->model.size.H, C = o->model.channels, P = W * H;
    if (!t || t->rank != 4 || t->type != DG_F64 || t->dim[0] < 1 || t->dim[0] > o->batch)
        return dg_fail(DG_USAGE, "%s: tensor expect.sample is missing or invalid", o->path);
    int n = (int)t->dim[0];
    if (!dg_oracle_tensor(o, "expect.sample", DG_F64, 4, (int64_t[]){n, C, H, W})) return DG_USAGE;
    const size_t inputs = (size_t)dg_job_inputs(job), values = (size_t)n * (size_t)P * (size_t)C;
    float *z = calloc((size_t)n * inputs, sizeof *z);
    double *x = malloc(2 * values * sizeof *x);
    dg_err e = z && x ? DG_OK : dg_fail(DG_DEVICE, "out of memory");
    for (int i = 0; i < n && !e; i++) sample_input(o, i, z + (size_t)i * inputs);
    if (!e) e = dg_job_generate(job, z, n, NULL, x);
    if (!e) {
        double *nchw = x + values;
        for (int k = 0; k < n; k++)
            for (int p = 0; p < P; p++)
                for (int c = 0; c < C; c++)
                    nchw[((size_t)k * (size_t)C + (size_t)c) * (size_t)P + (size_t)p] =
                        x[((size_t)k * (size_t)P + (size_t)p) * (size_t)C + (size_t)c];
        r->compared(r->context, "sample", relative(nchw, t->data, values), "");
    }
    free(x);
    free(z);
    return e;
}

static dg_err compare_test(const dg_oracle *o, dg_job *job, const dg_replay_report *r)
{
    const int n = job->o.tested, classes = dg_job_classes(job);
    const dg_st_tensor *t = dg_oracle_tensor(o, "expect.test", DG_F64, 2, (int64_t[]){n, classes});
    if (!t) return DG_USAGE;
    double *p = malloc((size_t)n * (size_t)classes * sizeof *p);
    uint8_t *records = NULL;
    dg_err e = p ? dg_oracle_records(o, job, &records) : dg_fail(DG_DEVICE, "out of memory");
    if (!e) e = dg_job_test(job, records, n, p, NULL, NULL);
    if (!e) r->compared(r->context, "test", relative(p, t->data, (size_t)n * (size_t)classes), "");
    free(records);
    free(p);
    return e;
}

static dg_err build(const dg_oracle *o, dg_backend *b, dg_job *job, void **data, void **perm, dg_whitening **whitening)
{
    dg_job_options go = o->job;
    go.batch = o->batch;
    go.last_batch = o->last_batch;
    go.samples = o->batch < 8 ? o->batch : 8;
    go.tested = o->count < 8 ? o->count : 8;
    go.rows = o->count;
    go.train = go.z_given = true;
    dg_err e = dg_oracle_whitening(o, b, &go.input.whitening);
    *whitening = go.input.whitening;
    if (!e) e = dg_job_build(job, &o->model, &go, b);
    if (!e) e = dg_oracle_images(o, job, data);
    if (!e) e = b->alloc(b, (size_t)o->batch * sizeof(int32_t), perm);
    if (!e) e = dg_job_alloc(job, *data, *perm);
    if (!e) e = dg_job_init(job, 1);
    return e ? e : dg_oracle_weights(o, job);
}

static dg_err replay(const dg_oracle *o, dg_job *job, int steps, void *perm, const dg_replay_report *r, dg_metrics *m)
{
    dg_err e = DG_OK;
    for (int s = 0; s < steps && !e; s++) {
        e = play(o, job, s, perm, &m[s]);
        for (int i = 0; s == 0 && i < job->tensors && !e; i++)
            if (job->tensor[i].grad >= 0)
                e = compare(o, job, r, "expect.step0.grad.", &job->tensor[i], job->tensor[i].grad);
    }
    for (int i = 0; i < job->recipe->metrics && !e; i++)
        if (is_recorded(&job->recipe->metric[i])) e = compare_metric(o, r, &job->recipe->metric[i], m, steps);
    if (steps < o->steps) return e;
    for (int i = 0; i < job->tensors && !e; i++) {
        const dg_job_tensor *t = &job->tensor[i];
        e = compare(o, job, r, "expect.final.", t, t->row);
        if (!e && t->average >= 0) e = compare(o, job, r, "expect.average.", t, t->average);
    }
    if (e || dg_is_averaged(&job->o)) return e; /* samples of averaged weights depend on unrecorded noise */
    return job->recipe->sample ? compare_sample(o, job, r) : job->recipe->labels ? compare_test(o, job, r) : DG_OK;
}

dg_err dg_replay(const dg_oracle *o, dg_backend *b, int steps, const dg_replay_report *report, dg_metrics *m)
{
    void *data = NULL, *perm = NULL;
    dg_whitening *whitening = NULL;
    dg_job *job = calloc(1, sizeof *job);
    dg_err e = job ? build(o, b, job, &data, &perm, &whitening) : dg_fail(DG_DEVICE, "out of memory");
    if (!e) e = replay(o, job, steps, perm, report, m);
    if (data) b->release(b, data);
    if (perm) b->release(b, perm);
    if (job) dg_job_free(job);
    free(job);
    dg_whitening_free(whitening);
    return e;
}
