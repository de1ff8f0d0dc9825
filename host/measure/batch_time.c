#include "host/measure/batch_time.h"

#include <math.h>
#include <stdio.h>

#include "core/base/clock.h"
#include "core/base/plural.h"
#include "core/base/sort.h"
#include "host/trainer/ring_reader.h"

#define SECONDS 60.0
#define LOOK 0.33 /* seconds per measurement; many short measurements average out noise */
#define SWEEP_SECONDS 2.0
#define ENERGY_LOOK 2.0 /* counters of CPUs change every millisecond */
enum { LOOKS = 60, COUNTED = 5, SAMPLES = 4096, RULE_STEPS = 1000 };

static dg_err run_steps(dg_batch_trial *t, const dg_batch_bench *b, long most, long *done, double *seconds)
{
    const long left = (long)(dg_epoch_length(&t->trainer.feed) - t->trainer.at.batch);
    if (b->stop && *b->stop) return dg_fail(DG_FAILED, "stopped");
    *done = t->ahead < left ? t->ahead : left;
    if (*done > most) *done = most;
    const double start = dg_clock();
    const dg_err e = dg_trainer_steps(&t->trainer, (int)*done);
    *seconds = dg_clock() - start;
    return e;
}

/* Run two steps, then a group of t->ahead steps, because the backend captures a CUDA graph for groups of this size. */
static dg_err warm_up(dg_batch_trial *t, dg_batch_bench *b)
{
    long done;
    double seconds;
    dg_err e = run_steps(t, b, 1, &done, &seconds);
    if (!e) e = run_steps(t, b, 1, &done, &seconds);
    if (!e) t->ahead = dg_steps_ahead(b->backend, seconds);
    return e || t->ahead == 1 ? e : run_steps(t, b, t->ahead, &done, &seconds);
}

dg_err dg_batch_open(dg_batch_trial *t, dg_batch_bench *b, int batch, char why[160])
{
    size_t needed = 0;
    const dg_dataset *d = b->data;
    *t = (dg_batch_trial){.ahead = 1};
    *why = 0;
    if (batch > d->train) snprintf(why, 160, "the dataset has only %d image%s", d->train, dg_s(d->train));
    if (*why) return DG_OK;
    const dg_job_options o = dg_options_run(b->o, batch, d->train, d->count - d->train);
    const bool first = batch == b->o->min_batch; /* for the first size, the error names the largest that fits */
    dg_err e = first ? dg_build_to_fit(&t->job, b->model, &o, b->backend, b->o->device_memory)
                     : dg_build_if_fits(&t->job, b->model, &o, b->backend, &b->room, &needed);
    if (e == DG_USAGE && !first) snprintf(why, 160, "%s", dg_message());
    if (e) return *why ? DG_OK : e;
    if (needed > b->room.have)
        snprintf(why, 160, "the run needs %.1f MB, but only %.1f MB are free%s", (double)needed / 1e6,
                 (double)b->room.have / 1e6, b->o->device_memory > 0 ? " (--device-memory)" : "");
    if (*why) return DG_OK;
    e = dg_trainer_start(&t->trainer, &t->job, d->pixels, NULL, d->train, true, b->o->seed);
    if (!e) e = dg_job_init(&t->job, b->o->seed);
    if (!e && b->progress) b->progress(b->context, batch);
    if (!e) e = warm_up(t, b);
    if (e) dg_batch_close(t);
    return e;
}

void dg_batch_close(dg_batch_trial *t)
{
    dg_trainer_close(&t->trainer);
    dg_job_free(&t->job);
}

/* Time the steps of a round, or at least COUNTED steps for `most` seconds. Sample utilisation once per second. */
static dg_err take_samples(dg_batch_trial *t, const dg_batch_bench *b, double most, dg_batch_row *row)
{
    const int threads = b->backend->threads;
    const double begin = dg_clock();
    const double joules = b->energy ? dg_energy_joules(b->energy, true) : NAN;
    double ms[SAMPLES], usage[SAMPLES], spent = 0, seconds, at = begin, cpu = dg_cpu_seconds(), now;
    long all = 0;
    int n = 0, seen = 0;
    bool more = true;
    for (long done; more; all += done) {
        const dg_err e = run_steps(t, b, b->steps ? b->steps - all : DG_RING, &done, &seconds);
        if (e) return e;
        spent += seconds;
        ms[n++ % SAMPLES] = 1e3 * seconds / (double)done;
        now = dg_clock();
        more = b->steps ? all + done < b->steps : n < COUNTED || now - begin < most;
        if (now - at < 1 && (more || seen)) continue;
        usage[seen++ % SAMPLES] = threads ? fmin(100, 100 * (dg_cpu_seconds() - cpu) / ((now - at) * threads))
                                          : dg_nvml_utilisation(b->nvml);
        at = now;
        cpu = dg_cpu_seconds();
    }
    row->joules = b->energy ? (dg_energy_joules(b->energy, true) - joules) / ((double)all * row->batch) : NAN;
    n = n < SAMPLES ? n : SAMPLES;
    row->busy = threads || b->nvml ? dg_batch_usage(usage, seen < SAMPLES ? seen : SAMPLES) : NAN;
    row->median = dg_sort_median(ms, n);
    row->ms = b->steps ? 1e3 * spent / (double)b->steps : ms[(n - 1) / 10];
    return DG_OK;
}

static dg_err time_size(void *bench, int batch, double seconds, dg_batch_row *row, char why[160])
{
    dg_batch_bench *b = bench;
    const double begin = dg_clock();
    double flops = 0;
    dg_batch_trial t;
    *row = (dg_batch_row){.batch = batch, .looks = 1};
    dg_err e = dg_batch_open(&t, b, batch, why);
    if (e || *why) return e;
    e = dg_machine_peak(&b->machine, b->backend);
    row->setup = dg_clock() - begin;
    if (!e) e = take_samples(&t, b, seconds, row);
    const dg_plan *p = &t.job.plan[DG_PLAN_TRAIN];
    for (int i = 0; i < p->ops; i++) flops += dg_op_flops(&p->op[i]);
    row->of_peak = b->machine.all > 0 ? 100 * flops / row->ms * 1e-6 / b->machine.all : NAN;
    row->memory = (double)dg_fit_bytes(&t.job);
    dg_batch_close(&t);
    return e;
}

static double elapsed(void *bench) { return dg_clock() - ((dg_batch_bench *)bench)->began; }

dg_err dg_batch_find(dg_batch_bench *b, dg_batch_rule rule, dg_batch_table *t)
{
    const dg_options *o = b->o;
    const double seconds = o->seconds > 0 ? o->seconds : rule == DG_RULE_SWEEP ? SWEEP_SECONDS : SECONDS;
    const dg_batch_limits limits = {.from = o->min_batch,
                                    .most = o->max_batch,
                                    .images = b->data->train,
                                    .drop_last = o->drop_last,
                                    .within = o->within / 100,
                                    .least_steps = o->min_steps,
                                    .seconds = seconds,
                                    .look = rule == DG_RULE_SWEEP    ? seconds
                                            : rule == DG_RULE_ENERGY ? fmin(seconds / 20, ENERGY_LOOK)
                                                                     : fmin(seconds / LOOKS, LOOK),
                                    .step = o->sweep_step};
    const char *no_nvml = "";
    b->began = dg_clock();
    b->machine = (dg_machine){.real = b->backend->real, .math = b->backend->math, .foreign = -1};
    if (rule == DG_RULE_USAGE || rule == DG_RULE_EPOCH_TIME) b->steps = o->steps ? o->steps : RULE_STEPS;
    if (!b->backend->threads) b->nvml = dg_nvml_open(b->backend->bus, &no_nvml);
    b->energy = dg_energy_open("", b->backend->bus);
    dg_busy_start(&b->load);
    dg_err e = dg_room_of(b->backend, o->device_memory, &b->room);
    if (!e && rule == DG_RULE_USAGE && !b->backend->threads && !b->nvml)
        e = dg_fail(DG_DEVICE, "--rule usage: needs NVML, and %s; use --rule epoch-time", no_nvml);
    if (!e && rule == DG_RULE_ENERGY && !b->energy)
        e = dg_fail(DG_DEVICE,
                    DG_MSG("no-energy-counter", "--rule energy: this process can read no energy counter of %s: %s"),
                    b->backend->name,
                    b->backend->threads ? "often only root may read /sys/class/powercap/*/energy_uj"
                                        : "it needs NVML and a GPU from Volta on");
    if (!e) e = dg_batch_choose(t, rule, &limits, &(dg_batch_machine){b, elapsed, time_size});
    b->machine.foreign = dg_busy_foreign(&b->load);
    dg_energy_close(b->energy);
    dg_nvml_close(b->nvml);
    return e;
}
