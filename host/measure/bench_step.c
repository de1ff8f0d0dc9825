/* Timing of training steps. */
#include <stdlib.h>
#include <string.h>

#include "host/measure/bench.h"
#include "core/plan/branches.h"
#include "core/base/sort.h"
#include "host/measure/trial.h"

enum { KEPT = sizeof((dg_timing *)0)->value / sizeof(double) };

void dg_timing_add(dg_timing *t, double value)
{
    if (!t->n || value < t->best) t->best = value;
    t->value[t->n++ % KEPT] = value;
}

double dg_timing_median(const dg_timing *t)
{
    double sorted[KEPT];
    int n = t->n < KEPT ? t->n : KEPT;
    if (!n) return 0;
    memcpy(sorted, t->value, (size_t)n * sizeof *sorted);
    return dg_sort_median(sorted, n);
}

static dg_err describe(dg_bench_model *r, const dg_plan *p)
{
    r->ops = p->ops;
    r->op = calloc((size_t)r->ops, sizeof *r->op);
    if (!r->op) return dg_fail(DG_DEVICE, "out of memory for the table of ops");
    for (int i = 0; i < r->ops; i++) {
        const dg_op *op = &p->op[i];
        dg_bench_op *o = &r->op[i];
        memcpy(o->name, op->name, sizeof o->name);
        o->kind = dg_op_kind_name(op->kind);
        o->variant = op->tune.variant;
        o->flops = dg_op_flops(op);
        o->bytes = dg_op_bytes(p, op);
        r->flops += o->flops;
        r->bytes += o->bytes;
    }
    return DG_OK;
}

static dg_err predict_launches(dg_bench_model *r, const dg_machine *m, const dg_plan *p)
{
    const int launches = dg_plan_pieces(p);
    r->launch = calloc((size_t)launches + 1, sizeof *r->launch);
    if (!r->launch) return dg_fail(DG_DEVICE, "out of memory for the table of launches");
    r->launches = launches;
    for (int i = 0; i < launches; i++) {
        r->launch[i].op = p->launch ? p->launch[i].main : i;
        if (p->launch) dg_predict_launch(p, &p->launch[i], m, &r->launch[i].cost);
    }
    return dg_plan_chain(p, &r->chain);
}

static dg_err predict(dg_bench_model *r, const dg_machine *m, const dg_plan *p)
{
    r->kernels = 0;
    r->predicted_us = 0;
    for (int i = 0; i < r->ops; i++) {
        r->op[i].predicted = dg_predict(p, &p->op[i], m);
        r->kernels += r->op[i].predicted.kernels;
        r->predicted_us += r->op[i].predicted.us;
    }
    r->chain = r->kernels;
    return m->gpu ? predict_launches(r, m, p) : DG_OK;
}

dg_err dg_bench_predict(dg_bench_model *r, const dg_machine *m, const dg_plan *p, const char *model, int batch)
{
    *r = (dg_bench_model){.batch = batch};
    memcpy(r->model, model, strnlen(model, sizeof r->model - 1));
    dg_err e = describe(r, p);
    return e ? e : predict(r, m, p);
}

/* Returns the number of steps that take about 20 ms, to amortise launches and synchronisation. */
static int steps_at_once(double ms)
{
    const double n = ms > 0 ? 20 / ms : DG_TRIAL_STEPS;
    return n < 2 ? 1 : n < DG_TRIAL_STEPS ? (int)n : DG_TRIAL_STEPS;
}

static dg_err rounds_of(dg_bench_model *r, dg_machine *m, dg_trial *t, int rounds)
{
    enum { WARM = 2 };
    dg_backend *b = t->job.backend;
    double ms = 0, *each = calloc((size_t)r->ops, sizeof *each);
    if (!each) return dg_fail(DG_DEVICE, "out of memory for the times of the ops");
    dg_err e = DG_OK;
    for (int i = 0; i < WARM && !e; i++) e = dg_trial_steps(t, 1, &ms);
    r->in_flight = steps_at_once(ms);
    if (!e && r->in_flight > 1) e = dg_trial_steps(t, r->in_flight, &ms);
    for (int i = 0; i < rounds && !e; i++) {
        e = dg_machine_peak(m, b);
        if (!e) e = dg_trial_steps(t, r->in_flight, &ms);
        if (!e) dg_timing_add(&r->step, ms);
        if (!e) e = dg_trial_ops(t, each);
        for (int k = 0; k < r->ops && !e; k++) dg_timing_add(&r->op[k].ms, each[k]);
    }
    free(each);
    return e;
}

dg_err dg_bench_measure(dg_bench_model *r, dg_machine *m, const dg_model *model, int batch, int rounds, dg_backend *b)
{
    *r = (dg_bench_model){.batch = batch};
    memcpy(r->model, model->name, sizeof r->model);
    dg_trial t;
    dg_err e = dg_trial_open(&t, model, batch, b);
    if (!e) e = describe(r, &t.job.plan[DG_PLAN_TRAIN]);
    if (!e) e = rounds_of(r, m, &t, rounds);
    if (!e) predict(r, m, &t.job.plan[DG_PLAN_TRAIN]);
    dg_trial_close(&t);
    return e;
}

void dg_bench_free(dg_bench_model *r)
{
    free(r->launch);
    free(r->op);
}
