/* Runs the plans of a job: training, sampling and testing. */
#include <stdlib.h>
#include <math.h>
#include <string.h>

#include "core/group/group.h"
#include "host/net/job.h"

/* With job->states, use start_put, because put() would make the backend round all weights again. */
dg_err dg_job_put_scheduled(dg_job *job, const dg_step_state *state, double images, int batch)
{
    dg_backend *b = job->backend;
    void *const to = dg_job_memory(job, job->row[DG_ROW_STATE]);
    dg_step_state s = *state;
    dg_schedule_step(&job->o, images, batch, &s);
    if (!job->states) return b->put(b, to, &s, sizeof s);
    dg_step_state *const from = &job->states[s.step % DG_RING];
    *from = s;
    return b->start_put(b, DG_COMPUTE, to, from, sizeof s);
}

dg_err dg_job_put_state(dg_job *job, const dg_step_state *state)
{
    const double images = job->o.schedule > 0 ? job->o.schedule / 2 : job->o.class_fade / 2;
    return dg_job_put_scheduled(job, state, images, job->o.batch);
}

static dg_err copy_metrics(dg_job *job, uint64_t first, int n, dg_metrics *out, bool wait)
{
    dg_backend *b = job->backend;
    const dg_metrics *ring = dg_job_memory(job, job->row[DG_ROW_METRICS]);
    dg_err e = DG_OK;
    for (int i = 0; i < n && !e;) {
        const int at = (int)((first + (uint64_t)i) % DG_RING), count = n - i < DG_RING - at ? n - i : DG_RING - at;
        const size_t bytes = (size_t)count * sizeof *out;
        e = wait ? b->get(b, out + i, ring + at, bytes) : b->start_get(b, DG_COMPUTE, out + i, ring + at, bytes);
        i += count;
    }
    return e;
}

dg_err dg_job_get_metrics(dg_job *job, uint64_t first, int n, dg_metrics *out)
{
    return copy_metrics(job, first, n, out, true);
}

dg_err dg_job_start_metrics(dg_job *job, uint64_t first, int n, dg_metrics *host)
{
    return copy_metrics(job, first, n, host, false);
}

dg_err dg_job_step(dg_job *job, int batch) { return dg_job_steps(job, batch, 1); }

dg_err dg_job_steps(dg_job *job, int batch, int n)
{
    dg_backend *b = job->backend;
    dg_plan *p = &job->plan[batch == job->o.batch ? DG_PLAN_TRAIN : DG_PLAN_TRAIN_SHORT];
    if (batch != job->o.batch && batch != job->o.last_batch)
        return dg_fail(DG_FAILED, "internal: no plan for batch size %d (planned: %d, %d)", batch, job->o.batch,
                       job->o.last_batch);
    job->unsettled = job->plan[DG_PLAN_STATISTICS].ops > 0;
    if (b->run_many) return b->run_many(b, p, n);
    dg_err e = DG_OK;
    for (int i = 0; i < n && !e; i++) e = b->run(b, p);
    return e ? e : dg_group_failed(b->group);
}

static dg_err put_statistics_labels(dg_job *job)
{
    if (job->class_labels < 0) return DG_OK;
    const int n = job->arena.row[job->class_labels].shape.C;
    int32_t *label = malloc((size_t)n * sizeof *label);
    if (!label) return dg_fail(DG_DEVICE, "out of memory for %d labels", n);
    for (int i = 0; i < n; i++) label[i] = dg_job_class_of(job, (uint64_t)i);
    const dg_err e = job->backend->put(job->backend, dg_job_memory(job, job->class_labels), label,
                                       (size_t)n * sizeof *label);
    free(label);
    return e;
}

dg_err dg_job_settle(dg_job *job)
{
    if (!job->unsettled) return DG_OK;
    dg_err e = put_statistics_labels(job);
    if (!e) e = job->backend->run(job->backend, &job->plan[DG_PLAN_STATISTICS]);
    job->unsettled = e != DG_OK;
    return e;
}

static size_t values_of(const dg_job *job, int row)
{
    const dg_shape s = job->arena.row[row].shape;
    return (size_t)s.H * (size_t)s.W * (size_t)s.C;
}

int dg_job_inputs(const dg_job *job) { return (int)values_of(job, job->input[DG_PLAN_SAMPLE]); }

dg_err dg_job_set_classes(dg_job *job, const int *images)
{
    const size_t bytes = (size_t)job->model.classes * sizeof *images;
    if (!job->class_images) job->class_images = malloc(bytes);
    if (!job->class_images) return dg_fail(DG_DEVICE, "out of memory for %d classes", job->model.classes);
    memcpy(job->class_images, images, bytes);
    return DG_OK;
}

/* Multiples of the golden ratio, modulo 1, are evenly spread. The fraction (32 bits) selects an image of the dataset,
 * sorted by class. */
int dg_job_class_of(const dg_job *job, uint64_t image)
{
    const uint64_t fraction = (image + 1) * UINT64_C(0x9e3779b97f4a7c15) >> 32;
    const int classes = job->model.classes, *images = job->class_images;
    uint64_t all = 0;
    int c = 0;
    if (!images) return (int)(fraction * (uint64_t)classes >> 32);
    for (int k = 0; k < classes; k++) all += (uint64_t)images[k];
    for (uint64_t at = fraction * all >> 32; at >= (uint64_t)images[c]; c++) at -= (uint64_t)images[c];
    return c;
}

void dg_job_sample(const dg_job *job, float *in, uint64_t seed, uint64_t image, int class_index)
{
    const int latent = job->model.latent, classes = job->model.classes;
    job->recipe->sample(in, latent, seed, image);
    memset(in + latent, 0, (size_t)classes * sizeof *in);
    if (classes) in[latent + (class_index < 0 ? dg_job_class_of(job, image) : class_index)] = 1;
}

dg_err dg_job_put_values(dg_job *job, int row, size_t first, const double *in, size_t count)
{
    dg_backend *b = job->backend;
    char *to = (char *)dg_job_memory(job, row) + first * dg_type_bytes(b->real);
    if (b->real == DG_F64) return b->put(b, to, in, count * sizeof *in);
    float *narrow = malloc(count * sizeof *narrow);
    if (!narrow) return dg_fail(DG_DEVICE, "out of memory");
    for (size_t i = 0; i < count; i++) narrow[i] = (float)in[i];
    dg_err e = b->put(b, to, narrow, count * sizeof *narrow);
    free(narrow);
    return e;
}

dg_err dg_job_put_input(dg_job *job, dg_plan_role plan, size_t first, const double *in, size_t count)
{
    return dg_job_put_values(job, job->input[plan], first, in, count);
}

static dg_err run_samples(dg_job *job, const float *in, int n)
{
    dg_backend *b = job->backend;
    const size_t inputs = (size_t)n * (size_t)dg_job_inputs(job);
    double *wide = malloc(inputs * sizeof *wide);
    if (!wide) return dg_fail(DG_DEVICE, "out of memory for %d images", n);
    for (size_t i = 0; i < inputs; i++) wide[i] = (double)in[i];
    dg_err e = dg_job_settle(job);
    if (!e) e = dg_job_put_input(job, DG_PLAN_SAMPLE, 0, wide, inputs);
    free(wide);
    return e ? e : b->run(b, &job->plan[DG_PLAN_SAMPLE]);
}

dg_err dg_job_get_values(dg_job *job, int row, size_t n, double *out)
{
    dg_backend *b = job->backend;
    const void *from = dg_job_memory(job, row);
    if (b->real == DG_F64) return b->get(b, out, from, n * sizeof *out);
    float *narrow = malloc(n * sizeof *narrow);
    if (!narrow) return dg_fail(DG_DEVICE, "out of memory");
    const dg_err e = b->get(b, narrow, from, n * sizeof *narrow);
    for (size_t i = 0; i < n && !e; i++) out[i] = (double)narrow[i];
    free(narrow);
    return e;
}

dg_err dg_job_generate(dg_job *job, const float *in, int n, uint8_t *pixels, double *x)
{
    dg_backend *b = job->backend;
    const size_t each = values_of(job, job->pixels);
    dg_err e = DG_OK;
    for (int i = 0; i < n && !e; i += job->o.samples) {
        const int count = n - i < job->o.samples ? n - i : job->o.samples;
        const size_t at = (size_t)i * each, bytes = (size_t)count * each;
        e = run_samples(job, in + (size_t)i * (size_t)dg_job_inputs(job), count);
        if (!e && pixels) e = b->get(b, pixels + at, dg_job_memory(job, job->pixels), bytes);
        if (!e && x) e = dg_job_get_values(job, job->values, (size_t)count * each, x + at);
    }
    return e;
}

dg_err dg_job_start_generate(dg_job *job, const float *in, int n, uint8_t *pixels)
{
    dg_backend *b = job->backend;
    const size_t each = values_of(job, job->pixels);
    dg_err e = DG_OK;
    for (int i = 0; i < n && !e; i += job->o.samples) {
        const int count = n - i < job->o.samples ? n - i : job->o.samples;
        const void *from = dg_job_memory(job, job->pixels);
        e = run_samples(job, in + (size_t)i * (size_t)dg_job_inputs(job), count);
        if (!e) e = b->start_get(b, DG_COMPUTE, pixels + (size_t)i * each, from, (size_t)count * each);
    }
    return e;
}

int dg_job_classes(const dg_job *job) { return job->arena.row[job->test.p].shape.C; }

dg_err dg_job_put_test(dg_job *job, const uint8_t *records, int n)
{
    dg_backend *b = job->backend;
    const dg_step_state state = {0};
    const size_t places = (size_t)job->o.tested, record = dg_job_record_bytes(job);
    int32_t *order = malloc(places * sizeof *order);
    if (!order) return dg_fail(DG_DEVICE, "out of memory for %d images", n);
    for (int i = 0; i < job->o.tested; i++) order[i] = i < n ? i : 0;
    dg_err e = b->put(b, dg_job_memory(job, job->test.perm), order, places * sizeof *order);
    if (!e) e = b->put(b, dg_job_memory(job, job->test.state), &state, sizeof state);
    if (!e) e = b->put(b, dg_job_memory(job, job->test.data), records, (size_t)n * record);
    free(order);
    return e;
}

dg_shape dg_job_hidden(const dg_job *job)
{
    const dg_net *n = &job->model.net[0];
    return n->layer[n->layers - 1].in;
}

dg_err dg_job_test(dg_job *job, const uint8_t *records, int n, double *p, double *each, double *hidden)
{
    const size_t record = dg_job_record_bytes(job), classes = (size_t)dg_job_classes(job),
                 values = dg_count(dg_job_hidden(job));
    dg_err e = DG_OK;
    for (int i = 0; i < n && !e; i += job->o.tested) {
        const int count = n - i < job->o.tested ? n - i : job->o.tested;
        e = dg_job_put_test(job, records + (size_t)i * record, count);
        if (!e) e = job->backend->run(job->backend, &job->plan[DG_PLAN_TEST]);
        if (!e) e = dg_job_get_values(job, job->test.p, (size_t)count * classes, p + (size_t)i * classes);
        if (!e && each) e = dg_job_get_values(job, job->test.each, (size_t)count, each + i);
        if (!e && hidden)
            e = dg_job_get_values(job, job->test.hidden, (size_t)count * values, hidden + (size_t)i * values);
    }
    return e;
}

static const double PI = 3.14159265358979323846;

static double between(double start, double end, double c) { return end > 0 && c < 1 ? end + (start - end) * c : start; }

void dg_schedule_step(const dg_job_options *o, double images, int batch, dg_step_state *s)
{
    const double c = o->schedule > 0 ? (1 + cos(PI * fmin(1, images / o->schedule))) / 2 : 1,
                 risen = o->schedule > 0 ? 1 - c : 1, half_life = o->ema_half_life * risen;
    for (int i = 0; i < DG_NETS_MAX; i++) s->lr[i] = between(s->lr[i], s->lr[i] * o->lr_end, c);
    s->beta2 = between(o->beta2, o->beta2_end, c);
    s->penalty[0] = between(o->r1, o->r1_end, c);
    s->penalty[1] = between(o->r2, o->r2_end, c);
    s->ema = o->ema_half_life > 0 ? half_life > 0 ? exp2(-batch / half_life) : 0 : o->ema;
    s->augment = o->augment_p * risen;
    s->classes = o->class_fade > 0 ? fmin(1, fmax(0, 1.5 * images / o->class_fade - 0.5)) : 1;
}
