#include "host/measure/batch_time.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "host/measure/samples.h"
#include "host/net/recipes.h"
#include "host/trainer/ring_reader.h"
#include "host/trainer/steps.h"

#define SECONDS 60.0
#define LOOK 0.33 /* max seconds of a look (one measurement); many short looks average out disturbances */
enum { LOOKS = 60 };

dg_err dg_batch_bench_open(dg_batch_bench *b)
{
    const bool gpu = b->backend->threads == 0;
    b->machine = (dg_machine){.real = b->backend->real, .math = b->backend->math, .foreign = -1};
    b->no_nvml = "not a GPU";
    if (gpu) b->nvml = dg_nvml_open(b->backend->bus, &b->no_nvml);
    dg_busy_start(&b->load);
    return dg_room_of(b->backend, b->o->device_memory, &b->room);
}

void dg_batch_bench_close(dg_batch_bench *b)
{
    b->machine.foreign = dg_busy_foreign(&b->load);
    dg_nvml_close(b->nvml);
    free(b->records);
    b->records = NULL;
    b->nvml = NULL;
}

/* Classifier records have labels, and floats if the images are whitened; their values do not matter here. */
static dg_err feed_of(dg_batch_trial *t, dg_batch_bench *b)
{
    dg_job *job = &t->job;
    const int count = b->data->train, batch = job->o.batch, rest = count % batch;
    dg_err e = DG_OK;
    if (job->recipe->labels && !b->records) e = dg_job_records(job, b->data->pixels, NULL, count, &b->records);
    if (e) return e;
    const dg_records r = {b->records ? b->records : b->data->pixels, dg_job_record_bytes(job), count};
    e = dg_loader_open(&t->feed, b->backend, r, batch, b->o->drop_last ? count - rest : count, job->o.window,
                       b->o->seed);
    return e ? e : dg_job_alloc(job, t->feed.data, t->feed.perm);
}

/* Advance past the short last step of an epoch and the start of the next one to the next full step. *full: full steps
 * left in the epoch. */
static dg_err go_to_full_step(dg_batch_trial *t, long *full)
{
    static const double lr[DG_NETS_MAX];
    dg_err e = DG_OK;
    for (*full = 0; !*full && !e;) {
        if (!t->begun) e = dg_epoch_begin(&t->job, &t->feed, &t->at, lr);
        t->begun = true;
        *full = t->feed.used / t->feed.batch - (long)t->at.batch;
        if (*full || e) break;
        if (t->at.batch < dg_epoch_length(&t->feed)) e = dg_epoch_steps(&t->job, &t->feed, &t->at, 1);
        dg_position_end_epoch(&t->at);
        t->begun = false;
    }
    return e;
}

dg_err dg_batch_steps(dg_batch_trial *t, long most, long *done, double *ms)
{
    dg_backend *b = t->bench->backend;
    long full;
    dg_err e = go_to_full_step(t, &full);
    if (!e) e = b->sync(b);
    if (e) return e;
    if (t->bench->stop && *t->bench->stop) return dg_fail(DG_FAILED, "stopped");
    *done = t->feed.window ? 1 : t->ahead;
    if (*done > full) *done = full;
    if (*done > most) *done = most;
    const double start = dg_clock();
    e = dg_epoch_steps(&t->job, &t->feed, &t->at, (int)*done);
    if (!e) e = b->sync(b);
    *ms = 1e3 * (dg_clock() - start) / (double)*done;
    return e;
}

/* Run two steps, then a group of `ahead` steps, which makes the backend capture the graphs of such a group. DG_NUMBERS
 * if values are not finite. */
static dg_err warm_up(dg_batch_trial *t)
{
    long done;
    double ms;
    char bad[160];
    dg_metrics m;
    dg_err e = DG_OK;
    for (int i = 0; i < 2 && !e; i++) e = dg_batch_steps(t, 1, &done, &ms);
    if (!e) t->ahead = dg_steps_ahead(t->bench->backend, 1e-3 * ms);
    if (!e && t->ahead > 1) e = dg_batch_steps(t, t->ahead, &done, &ms);
    if (!e) e = dg_job_get_metrics(&t->job, t->at.step - 1, 1, &m);
    if (!e && dg_recipe_bad(t->job.recipe, &m, bad, sizeof bad))
        e = dg_fail(DG_NUMBERS, "batch %d computes values that are not finite: %s", t->job.o.batch, bad);
    return e;
}

dg_err dg_batch_open(dg_batch_trial *t, dg_batch_bench *b, int batch, bool *yes, char why[160])
{
    size_t needed = 0;
    const dg_dataset *d = b->data;
    const dg_job_options o = dg_options_run(b->o, batch, d->train, d->count - d->train);
    *t = (dg_batch_trial){.bench = b, .ahead = 1};
    *yes = false;
    dg_err e = dg_build_if_fits(&t->job, b->model, &o, b->backend, &b->room, &needed);
    if (e == DG_USAGE) snprintf(why, 160, "%s", dg_message());
    if (e) return e == DG_USAGE ? DG_OK : e;
    *yes = needed <= b->room.have;
    if (!*yes)
        snprintf(why, 160, "it needs %.1f MB, but only %.1f MB are free%s", (double)needed / 1e6,
                 (double)b->room.have / 1e6, b->o->device_memory > 0 ? " (--device-memory)" : "");
    if (!*yes) return DG_OK;
    e = feed_of(t, b);
    if (!e) e = dg_job_init(&t->job, b->o->seed);
    if (!e && b->progress) b->progress(b->context, batch);
    if (!e) e = warm_up(t);
    if (e) dg_batch_close(t);
    return e;
}

void dg_batch_close(dg_batch_trial *t)
{
    dg_loader_close(&t->feed);
    dg_job_free(&t->job);
}

/* Percent of the step's time with running kernels: the sum of the ops' times, at most 100 because some overlap. */
static dg_err busy_of_gpu(dg_batch_trial *t, double ms, double *busy)
{
    dg_backend *b = t->bench->backend;
    dg_plan *p = &t->job.plan[DG_PLAN_TRAIN];
    long full;
    double sum = 0, *each = calloc((size_t)p->ops, sizeof *each);
    if (!each) return dg_fail(DG_DEVICE, "out of memory for the times of the ops");
    dg_err e = go_to_full_step(t, &full);
    if (!e) e = dg_loader_step(&t->feed, (int)t->at.batch * t->feed.batch);
    if (!e) e = b->time_plan(b, p, each);
    if (!e) dg_position_add(&t->at, 1);
    for (int i = 0; i < p->ops && !e; i++) sum += each[i];
    *busy = fmin(100, 100 * sum / ms);
    free(each);
    return e;
}

static dg_err take_samples(dg_batch_trial *t, double most_seconds, bool all_of_them, dg_batch_row *row)
{
    const double begin = dg_clock(), threads = t->bench->backend->threads;
    double cpu = 0, wall = 0;
    dg_samples s = {.n = 0};
    dg_spread r = {0};
    dg_err e = DG_OK;
    while (!e) {
        const double spent = dg_clock() - begin, before = dg_cpu_seconds();
        if (all_of_them ? s.n && spent >= most_seconds : dg_samples_enough(&s, spent, most_seconds)) break;
        long done;
        double ms;
        e = dg_batch_steps(t, DG_RING, &done, &ms);
        if (e) break;
        cpu += dg_cpu_seconds() - before;
        wall += 1e-3 * ms * (double)done;
        e = dg_samples_add(&s, ms);
    }
    if (!e) e = dg_samples_spread(&s, &r);
    row->ms = r.quick;
    row->median = r.median;
    row->low = r.low;
    row->high = r.high;
    if (threads > 0) row->busy = fmin(100, 100 * cpu / (wall * threads));
    dg_samples_free(&s);
    return e;
}

static dg_err measure_peak(dg_batch_bench *b)
{
    dg_machine now = b->machine;
    now.all = 0;
    const dg_err e = dg_machine_peak(&now, b->backend);
    if (!e) b->machine.all = fmax(now.all, b->machine.all);
    return e;
}

dg_err dg_batch_time(dg_batch_bench *b, int batch, double most_seconds, bool all_of_them, dg_batch_row *row, bool *yes,
                     char why[160])
{
    const double begin = dg_clock();
    double flops = 0;
    dg_batch_trial t;
    *row = (dg_batch_row){.batch = batch, .looks = 1, .busy = NAN, .of_peak = NAN, .nvml = NAN};
    dg_err e = dg_batch_open(&t, b, batch, yes, why);
    if (e || !*yes) return e;
    e = measure_peak(b);
    row->setup = dg_clock() - begin;
    if (!e) e = take_samples(&t, most_seconds, all_of_them, row);
    const dg_plan *p = &t.job.plan[DG_PLAN_TRAIN];
    for (int i = 0; i < p->ops; i++) flops += dg_op_flops(&p->op[i]);
    if (b->machine.all > 0) row->of_peak = 100 * flops / row->ms * 1e-6 / b->machine.all;
    if (dg_nvml_utilisation(b->nvml) >= 0) row->nvml = dg_nvml_utilisation(b->nvml);
    row->memory = (double)dg_fit_bytes(&t.job);
    if (!e && !b->backend->threads) e = busy_of_gpu(&t, row->ms, &row->busy);
    dg_batch_close(&t);
    return e;
}

/* Return the error for a first size that does not fit. The message names a size that does. */
static dg_err refuse_all(const dg_batch_bench *b, int batch)
{
    dg_job job;
    const dg_dataset *d = b->data;
    const dg_job_options o = dg_options_run(b->o, batch, d->train, d->count - d->train);
    const dg_err e = dg_build_to_fit(&job, b->model, &o, b->backend, b->o->device_memory);
    if (e) return e;
    dg_job_free(&job);
    return dg_fail(DG_DEVICE, "batch %d no longer fits: another program has taken memory", batch);
}

dg_err dg_batch_glance(dg_batch_bench *b, int batch, double seconds, double *ms)
{
    dg_batch_row row;
    char why[160];
    bool yes;
    const dg_err e = dg_batch_time(b, batch, seconds, true, &row, &yes, why);
    *ms = row.median;
    return e || yes ? e : refuse_all(b, batch);
}

dg_search_limits dg_batch_limits(const dg_options *o)
{
    const double seconds = o->seconds > 0 ? o->seconds : SECONDS;
    return (dg_search_limits){.from = o->min_batch,
                              .most = o->max_batch,
                              .drop_last = o->drop_last,
                              .within = o->within / 100,
                              .least_steps = o->min_steps,
                              .seconds = seconds,
                              .look = fmin(seconds / LOOKS, LOOK)};
}

typedef struct {
    dg_batch_bench *bench;
    double began;
} found_on;

static double elapsed(void *context) { return dg_clock() - ((found_on *)context)->began; }

static dg_err look(void *context, int batch, double seconds, dg_batch_row *row, bool *yes, char why[160])
{
    return dg_batch_time(((found_on *)context)->bench, batch, seconds, false, row, yes, why);
}

dg_err dg_batch_find(dg_batch_bench *b, const dg_search_limits *limits, dg_search *s, char *why, size_t size)
{
    found_on on = {b, dg_clock()};
    const dg_err e = dg_search_run(s, limits, &(dg_search_machine){&on, elapsed, look});
    if (e || !s->rows) return e ? e : refuse_all(b, limits->from);
    dg_search_sentence(s, why, size);
    return DG_OK;
}
