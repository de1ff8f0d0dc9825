#include "host/measure/batch_time.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/clock.h"
#include "core/base/plural.h"
#include "host/measure/samples.h"
#include "host/net/recipes.h"
#include "host/trainer/ring_reader.h"
#include "host/trainer/steps.h"

#define SECONDS 60.0
#define LOOK 0.33 /* max seconds of a measurement; many short measurements average out disturbances */
enum {
    LOOKS = 60,
    PASSES = 10 /* passes of a sweep, so that a disturbance does not affect all measurements of one size */
};

dg_err dg_batch_bench_open(dg_batch_bench *b)
{
    b->began = dg_clock();
    b->machine = (dg_machine){.real = b->backend->real, .math = b->backend->math, .foreign = -1};
    b->no_nvml = "not a GPU";
    if (!b->backend->threads) b->nvml = dg_nvml_open(b->backend->bus, &b->no_nvml);
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

/* Open the loader without a short last batch. Records of classifiers have labels, and floats if images are whitened.
 * Any values will do, because they do not affect the time. */
static dg_err feed_of(dg_batch_trial *t)
{
    dg_batch_bench *b = t->bench;
    dg_job *job = &t->job;
    const int count = b->data->train, batch = job->o.batch;
    dg_err e = DG_OK;
    if (job->recipe->labels && !b->records) e = dg_job_records(job, b->data->pixels, NULL, count, &b->records);
    if (e) return e;
    const dg_records r = {b->records ? b->records : b->data->pixels, dg_job_record_bytes(job), count};
    e = dg_loader_open(&t->feed, b->backend, r, batch, count - count % batch, job->o.window, b->o->seed);
    return e ? e : dg_job_alloc(job, t->feed.data, t->feed.perm);
}

static const double lr[DG_NETS_MAX];

/* Begin a new epoch if the last one has ended, and wait for the device. *left: remaining steps of the epoch. */
static dg_err ready(dg_batch_trial *t, long *left)
{
    dg_backend *b = t->bench->backend;
    dg_err e = DG_OK;
    if (t->begun && t->at.batch == dg_epoch_length(&t->feed)) {
        dg_position_end_epoch(&t->at);
        t->begun = false;
    }
    if (!t->begun) e = dg_epoch_begin(&t->job, &t->feed, &t->at, lr);
    t->begun = true;
    *left = (long)(dg_epoch_length(&t->feed) - t->at.batch);
    return e ? e : b->sync(b);
}

/* Run between 1 and `most` steps and wait for them. *done: number of steps; the start of an epoch is not timed. */
static dg_err run_steps(void *trial, long most, long *done, double *seconds)
{
    dg_batch_trial *t = trial;
    dg_backend *b = t->bench->backend;
    long left;
    dg_err e = ready(t, &left);
    if (e) return e;
    if (t->bench->stop && *t->bench->stop) return dg_fail(DG_FAILED, "stopped");
    *done = t->feed.window ? 1 : t->ahead;
    if (*done > left) *done = left;
    if (*done > most) *done = most;
    const double start = dg_clock();
    e = dg_epoch_steps(&t->job, &t->feed, &t->at, lr, (int)*done);
    if (!e) e = b->sync(b);
    *seconds = dg_clock() - start;
    return e;
}

/* Run two steps, then a group of `ahead` steps, which makes the backend capture the graphs of such a group. DG_NUMBERS
 * if values are not finite. */
static dg_err warm_up(dg_batch_trial *t)
{
    long done;
    double seconds;
    char bad[160];
    dg_metrics m;
    dg_err e = DG_OK;
    for (int i = 0; i < 2 && !e; i++) e = run_steps(t, 1, &done, &seconds);
    if (!e) t->ahead = dg_steps_ahead(t->bench->backend, seconds);
    if (!e && t->ahead > 1) e = run_steps(t, t->ahead, &done, &seconds);
    if (!e) e = dg_job_get_metrics(&t->job, t->at.step - 1, 1, &m);
    if (!e && dg_recipe_bad(t->job.recipe, &m, bad, sizeof bad))
        e = dg_fail(DG_NUMBERS, "batch %d computes values that are not finite: %s", t->job.o.batch, bad);
    return e;
}

dg_err dg_batch_open(dg_batch_trial *t, dg_batch_bench *b, int batch, char why[160])
{
    size_t needed = 0;
    const dg_dataset *d = b->data;
    *t = (dg_batch_trial){.bench = b, .ahead = 1};
    *why = 0;
    if (batch > d->train) snprintf(why, 160, "the dataset has only %d image%s", d->train, dg_s(d->train));
    if (*why) return DG_OK;
    const dg_job_options o = dg_options_run(b->o, batch, d->train, d->count - d->train);
    dg_err e = dg_build_if_fits(&t->job, b->model, &o, b->backend, &b->room, &needed);
    if (e == DG_USAGE) snprintf(why, 160, "%s", dg_message());
    if (e) return e == DG_USAGE ? DG_OK : e;
    if (needed > b->room.have)
        snprintf(why, 160, "the run needs %.1f MB, but only %.1f MB are free%s", (double)needed / 1e6,
                 (double)b->room.have / 1e6, b->o->device_memory > 0 ? " (--device-memory)" : "");
    if (*why) return DG_OK;
    e = feed_of(t);
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

static double read_usage(void *trial)
{
    dg_batch_trial *t = trial;
    const int threads = t->bench->backend->threads;
    const double now = dg_clock(), cpu = dg_cpu_seconds(), wall = now - t->usage_at, used = cpu - t->cpu_at;
    t->usage_at = now;
    t->cpu_at = cpu;
    return threads ? 100 * used / (wall * threads) : dg_nvml_utilisation(t->bench->nvml);
}

/* Percent of a step's time in which kernels run: the sum of the ops' times, at most 100 because some ops overlap. */
static dg_err busy_of_gpu(dg_batch_trial *t, double ms, double *busy)
{
    dg_backend *b = t->bench->backend;
    dg_plan *p = &t->job.plan[DG_PLAN_TRAIN];
    long left;
    double sum = 0, *each = calloc((size_t)p->ops, sizeof *each);
    if (!each) return dg_fail(DG_DEVICE, "out of memory for the times of the ops");
    dg_err e = ready(t, &left);
    if (!e) e = dg_loader_step(&t->feed, (int)t->at.batch * t->feed.batch);
    if (!e) e = b->time_plan(b, p, each);
    if (!e) dg_position_add(&t->at, 1);
    for (int i = 0; i < p->ops && !e; i++) sum += each[i];
    *busy = fmin(100, 100 * sum / ms);
    free(each);
    return e;
}

/* Time steps for most_seconds or, unless all_of_them is set, until their median is known within 1%. */
static dg_err take_samples(dg_batch_trial *t, double most_seconds, bool all_of_them, dg_batch_row *row)
{
    const double begin = dg_clock();
    dg_samples s = {.n = 0};
    dg_spread r = {0};
    dg_err e = DG_OK;
    (void)read_usage(t);
    while (!e) {
        const double spent = dg_clock() - begin;
        if (all_of_them ? s.n && spent >= most_seconds : dg_samples_enough(&s, spent, most_seconds)) break;
        long done;
        double seconds;
        e = run_steps(t, DG_RING, &done, &seconds);
        if (!e) e = dg_samples_add(&s, 1e3 * seconds / (double)done);
    }
    const double usage = read_usage(t);
    if (t->bench->backend->threads) row->busy = fmin(100, usage);
    else if (usage >= 0) row->nvml = usage;
    if (!e) e = dg_samples_spread(&s, &r);
    row->ms = r.quick;
    row->median = r.median;
    row->low = r.low;
    row->high = r.high;
    dg_samples_free(&s);
    return e;
}

static dg_err time_size(dg_batch_bench *b, int batch, double most_seconds, bool all_of_them, dg_batch_row *row,
                        char why[160])
{
    const double begin = dg_clock();
    double flops = 0;
    dg_batch_trial t;
    *row = (dg_batch_row){.batch = batch, .looks = 1, .busy = NAN, .of_peak = NAN, .nvml = NAN};
    dg_err e = dg_batch_open(&t, b, batch, why);
    if (e || *why) return e;
    if (b->steps) {
        e = dg_batch_round(&(dg_round_machine){&t, read_usage, run_steps}, b->steps, row);
        dg_batch_close(&t);
        return e;
    }
    e = dg_machine_peak(&b->machine, b->backend);
    row->setup = dg_clock() - begin;
    if (!e) e = take_samples(&t, most_seconds, all_of_them, row);
    const dg_plan *p = &t.job.plan[DG_PLAN_TRAIN];
    for (int i = 0; i < p->ops; i++) flops += dg_op_flops(&p->op[i]);
    if (b->machine.all > 0) row->of_peak = 100 * flops / row->ms * 1e-6 / b->machine.all;
    row->memory = (double)dg_fit_bytes(&t.job);
    if (!e && !b->backend->threads) e = busy_of_gpu(&t, row->ms, &row->busy);
    dg_batch_close(&t);
    return e;
}

/* Return the error for a first size that does not fit. The message names the largest size that fits. */
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

dg_err dg_batch_time(dg_batch_bench *b, int batch, double most_seconds, dg_batch_row *row)
{
    char why[160] = "";
    dg_err e = dg_batch_bench_open(b);
    if (!e) e = time_size(b, batch, most_seconds, true, row, why);
    dg_batch_bench_close(b);
    return e || !*why ? e : refuse_all(b, batch);
}

dg_batch_limits dg_batch_limits_of(const dg_options *o, int images)
{
    const double seconds = o->seconds > 0 ? o->seconds : SECONDS;
    return (dg_batch_limits){.from = o->min_batch,
                             .most = o->max_batch,
                             .images = images,
                             .drop_last = o->drop_last,
                             .within = o->within / 100,
                             .least_steps = o->min_steps,
                             .seconds = seconds,
                             .look = fmin(seconds / LOOKS, LOOK)};
}

static double elapsed(void *bench) { return dg_clock() - ((dg_batch_bench *)bench)->began; }

static dg_err look(void *bench, int batch, double seconds, dg_batch_row *row, char why[160])
{
    return time_size(bench, batch, seconds, false, row, why);
}

dg_err dg_batch_find(dg_batch_bench *b, dg_batch_rule rule, const dg_batch_limits *limits, dg_batch_table *t)
{
    dg_err e = dg_batch_bench_open(b);
    if (!e && rule == DG_RULE_USAGE && !b->backend->threads && !b->nvml)
        e = dg_fail(DG_DEVICE, "--rule usage: needs NVML, and %s; use --rule epoch-time", b->no_nvml);
    if (!e) e = dg_batch_choose(t, rule, limits, &(dg_batch_machine){b, elapsed, look});
    dg_batch_bench_close(b);
    return e || rule || t->batch ? e : refuse_all(b, limits->from);
}

static int size_after(const dg_sweep_range *r, int batch)
{
    const int next = r->step ? batch + r->step : dg_batch_after(batch);
    return next <= r->last ? next : 0;
}

/* Measure each size once and keep its fastest time so far. The range ends at the first size that does not fit. */
static dg_err pass(dg_batch_bench *b, dg_sweep_range *range, double seconds, dg_sweep *s)
{
    dg_err e = DG_OK;
    int i = 0;
    for (int batch = range->first; batch && !e; batch = size_after(range, batch), i++) {
        char why[160];
        dg_batch_row row, *best = &s->row[i];
        /* skip a size in some passes if one step takes as long as several passes */
        if (i < s->rows && best->looks * fmax(1e-3 * best->ms, seconds / PASSES) >= 0.99 * seconds) continue;
        e = time_size(b, batch, seconds / PASSES, true, &row, why);
        if (e) break;
        if (*why) {
            range->last = batch - 1;
            snprintf(s->why_not, sizeof s->why_not, "%s", why);
            break;
        }
        row.looks = i < s->rows ? best->looks + 1 : 1;
        if (i < s->rows && best->ms < row.ms) best->looks = row.looks;
        else *best = row;
        if (i == s->rows) s->rows++;
    }
    return e;
}

dg_err dg_sweep_run(dg_batch_bench *b, const dg_sweep_range *range, double seconds, dg_sweep *s)
{
    int most = 0;
    dg_sweep_range fits = *range;
    for (int batch = range->first; batch; batch = size_after(range, batch)) most++;
    *s = (dg_sweep){.row = calloc((size_t)most + 1, sizeof *s->row)};
    if (!s->row) return dg_fail(DG_DEVICE, "out of memory for %d batch sizes", most);
    dg_err e = dg_batch_bench_open(b);
    for (int i = 0; i < PASSES && !e && range->first <= fits.last; i++) e = pass(b, &fits, seconds, s);
    dg_batch_bench_close(b);
    return e || s->rows ? e : dg_fail(DG_DEVICE, "batch %d: %s", range->first, s->why_not);
}

double dg_sweep_usage(const dg_batch_row *r) { return isnan(r->nvml) ? r->busy : r->nvml; }

dg_batch_row dg_sweep_at(const dg_sweep *s, int batch)
{
    int i = 0;
    while (i < s->rows - 2 && s->row[i + 1].batch < batch) i++;
    const dg_batch_row *a = &s->row[i], *b = s->rows > 1 ? a + 1 : a;
    const double part = a == b ? 0 : (double)(batch - a->batch) / (b->batch - a->batch);
    dg_batch_row r = {.batch = batch, .looks = 1, .ms = a->ms + part * (b->ms - a->ms), .nvml = NAN};
    r.busy = dg_sweep_usage(a) + part * (dg_sweep_usage(b) - dg_sweep_usage(a));
    /* an extrapolated time per image is at least a quarter of that of the first size */
    if (batch < s->row[0].batch) r.ms = fmax(r.ms, s->row[0].ms * batch / (4.0 * s->row[0].batch));
    return r;
}

static double no_time(void *sweep)
{
    (void)sweep;
    return 0;
}

static dg_err look_at_curve(void *sweep, int batch, double seconds, dg_batch_row *row, char why[160])
{
    const dg_sweep *s = sweep;
    (void)seconds;
    *row = dg_sweep_at(s, batch);
    snprintf(why, 160, "%s", batch > s->row[s->rows - 1].batch ? "the sweep has only smaller batch sizes" : "");
    return DG_OK;
}

void dg_sweep_choose(dg_sweep *s, dg_batch_rule rule, const dg_batch_limits *l, dg_batch_table *t)
{
    dg_batch_limits within = *l;
    if (!rule && within.from < s->row[0].batch) within.from = s->row[0].batch;
    (void)dg_batch_choose(t, rule, &within, &(dg_batch_machine){s, no_time, look_at_curve});
}
