#include "host/measure/tuner.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "host/measure/check_internal.h"
#include "core/base/clock.h"
#include "core/base/rng.h"
#include "core/base/sort.h"
#include "core/tune/tune.h"

enum {
    QUICK = 2, /* runs per choice in the first pass */
    FINAL = 8  /* choices per group that are timed again */
};
#define CLEARLY 0.98 /* max ratio of a new choice's time to the current choice's time */

typedef struct {
    dg_tune tune;
    double us;
} choice;

typedef struct {
    int op;
    double ms;
} target;

typedef struct {
    dg_trial *trial;
    dg_backend *b;
    const dg_tuner_options *o;
    double end; /* deadline, 0: none */
    int at, ops;
    void *scratch;
    size_t scratch_bytes;
    choice *list;
    int choices;
    double *ms;
} tuner;

static bool stopped(const tuner *s) { return s->o->stop && *s->o->stop; }

/* True after a deadline if at least one op or choice is done. */
static bool late(const tuner *s, double until, int done)
{
    return done > 0 && ((until > 0 && dg_clock() >= until) || (s->end > 0 && dg_clock() >= s->end));
}

static void range_of(const char *name, double *lo, double *hi)
{
    *lo = -1;
    *hi = 1;
    if (!strcmp(name, "rstd") || !strcmp(name, "running_var")) *lo = 0.5, *hi = 1.5;
    if (!strcmp(name, "v")) *lo = 0, *hi = 1e-3; /* Adam's second moment */
}

/* Outputs are filled, too, because random values reveal a missing write. */
static dg_err fill_operand(const tuner *s, const dg_op *op, int operand, const dg_row *r, uint64_t stream)
{
    const dg_job *job = &s->trial->job;
    const size_t bytes = dg_check_bytes(op, operand, r), n = bytes / sizeof(float);
    float *values = malloc(bytes);
    if (!values) return dg_fail(DG_DEVICE, "out of memory for the operands of %s", op->name);
    double lo, hi;
    range_of(dg_op_info_of(op->kind)->operand[operand].name, &lo, &hi);
    for (size_t i = 0; i < n; i += 4) {
        uint32_t word[4];
        dg_philox(word, 1, dg_subsequence(DG_STREAM_SYNTH, stream), i / 4);
        for (size_t k = i; k < n && k < i + 4; k++) values[k] = (float)(lo + (hi - lo) * word[k - i] / 4294967296.0);
    }
    const dg_err e = s->b->put(s->b, dg_check_memory(job, r), values, bytes);
    free(values);
    return e;
}

static dg_err fill(const tuner *s, const dg_op *op, uint64_t stream)
{
    int n;
    const dg_operand *list = dg_operands(op->kind, &n);
    dg_err e = dg_trial_rewind(s->trial);
    for (int k = 0; k < n && !e; k++) {
        const dg_row *r = dg_plan_row(&s->trial->job.plan[DG_PLAN_TRAIN], op, k);
        if (!r || list[k].role == DG_SCRATCH || r->kind == DG_STATE || r->kind == DG_OUTSIDE) continue;
        if (r->type == DG_F32) e = fill_operand(s, op, k, r, stream + (uint64_t)k);
    }
    return e;
}

static int by_time(const void *a, const void *b)
{
    const choice *x = a, *y = b;
    return (x->us > y->us) - (x->us < y->us);
}

static dg_op with(const tuner *s, const dg_op *op, const dg_tune *tune)
{
    dg_op other = *op;
    int n;
    const dg_operand *list = dg_operands(op->kind, &n);
    other.tune = *tune;
    for (int k = 0; k < n; k++)
        if (list[k].role == DG_SCRATCH) memcpy((char *)&other.u + list[k].member, &s->scratch, sizeof s->scratch);
    return other;
}

static dg_err time_choice(const tuner *s, const dg_op *op, choice *c, int n)
{
    const dg_op other = with(s, op, &c->tune);
    const dg_err e = s->b->time_op(s->b, &other, n, s->ms);
    if (e) return e;
    const double median = dg_sort_median(s->ms, n);
    c->us = 1e3 * (n <= QUICK ? s->ms[0] : median);
    return DG_OK;
}

static dg_err failed(dg_err e, const dg_op *op, const dg_tune *tune)
{
    char text[256];
    return dg_context(e, "%s as '%s'", op->name, dg_tune_text(text, sizeof text, op, tune));
}

static dg_err list_choices(tuner *s, const dg_op *op)
{
    dg_tune *all = malloc(DG_VARIANT_LIST * sizeof *all);
    size_t unused = 0, total = 0,
           most = s->b->scratch(s->b, op); /* at least that of the current choice, which `all` may lack */
    if (!all) return dg_fail(DG_DEVICE, "out of memory for the variants of %s that are timed", op->name);
    dg_err e = s->b->memory(s->b, &unused, &total);
    const int n = s->b->choices(s->b, op, all, DG_VARIANT_LIST);
    s->choices = 0;
    for (int i = 0; i < n && !e; i++) {
        dg_op other = *op;
        other.tune = all[i];
        const size_t bytes = s->b->scratch(s->b, &other);
        if (bytes > unused / 2 + s->scratch_bytes) continue; /* too much scratch memory for training */
        if (bytes > most) most = bytes;
        s->list[s->choices++] = (choice){.tune = all[i]};
    }
    free(all);
    if (e || most <= s->scratch_bytes) return e;
    if (s->scratch) s->b->release(s->b, s->scratch);
    s->scratch = NULL;
    s->scratch_bytes = 0;
    e = s->b->alloc(s->b, most, &s->scratch);
    if (!e) s->scratch_bytes = most;
    return e;
}

static void note_wrong(dg_tuned *t, const dg_tune *tune)
{
    char text[256];
    const char *row = strstr(dg_tune_text(text, sizeof text, &t->op, tune), " : ");
    if (!t->wrong++)
        snprintf(t->first_wrong, sizeof t->first_wrong, "%.60s: %.90s", row ? row + 3 : text, dg_message());
}

/* Tuning continues after DG_DEVICE, which means a refused launch. Other errors end tuning. */
static dg_err survived(const tuner *s, dg_tuned *t, const dg_tune *tune, dg_err e)
{
    if (e != DG_DEVICE) return failed(e, &t->op, tune);
    note_wrong(t, tune);
    e = s->b->sync(s->b);
    return e ? failed(e, &t->op, tune) : DG_OK;
}

static int common_divisor(int a, int b) { return b ? common_divisor(b, a % b) : a; }

/* Choices are timed with large strides, because neighbours in the list are similar. Move the timed choices to the start
 * of the list, fastest first. */
static dg_err look(tuner *s, double until, dg_tuned *t, int *looked)
{
    int step = 1 + (int)(0.618 * s->choices);
    while (common_divisor(s->choices, step) > 1) step++;
    for (int i = 0; i < s->choices; i++) s->list[i].us = INFINITY;
    for (int i = 0, at = 0; i < s->choices; i++, at = (at + step) % s->choices) {
        choice *c = &s->list[at];
        if (stopped(s) || late(s, until, i)) break;
        if (s->o->progress) s->o->progress(s->o->context, &t->op, s->at, s->ops, i, s->choices);
        dg_err e = time_choice(s, &t->op, c, QUICK);
        t->tried++;
        *looked += !e;
        if (e) e = survived(s, t, &c->tune, e);
        if (e) return e;
    }
    qsort(s->list, (size_t)s->choices, sizeof *s->list, by_time);
    return DG_OK;
}

static dg_tune direct_of(const dg_op *op)
{
    return (dg_tune){.variant = dg_op_info_of(op->kind)->variants[0], .block = 256, .split = 1};
}

static dg_err judge(tuner *s, const dg_op *op, const dg_tune *tune)
{
    const dg_tune direct = direct_of(op);
    const dg_op reference = with(s, op, &direct), other = with(s, op, tune);
    double worst;
    dg_err e = fill(s, op, 1000);
    if (!e) e = dg_check_op(&s->trial->job, &s->trial->job.plan[DG_PLAN_TRAIN], &reference, &other, &worst);
    return e && e != DG_FAILED ? failed(e, op, tune) : e;
}

/* Time groups of FINAL choices again, until a group has a correct choice. Select the fastest correct choice of the last
 * timed group. */
static dg_err pick(tuner *s, const dg_op *op, int looked, dg_tuned *t, bool *right)
{
    dg_err e = DG_OK;
    for (int from = 0; from < looked && !*right && !e; from += FINAL) {
        const int n = looked - from < FINAL ? looked - from : FINAL;
        for (int i = 0; i < n && !e; i++) {
            e = time_choice(s, op, &s->list[from + i], s->o->repeats);
            if (e) e = failed(e, op, &s->list[from + i].tune);
        }
        if (e) break;
        qsort(s->list + from, (size_t)n, sizeof *s->list, by_time);
        for (int i = 0; i < n && !*right && !e; i++) {
            const choice *c = &s->list[from + i];
            e = judge(s, op, &c->tune);
            *right = !e;
            if (*right) t->best = c->tune, t->us = c->us;
            if (e == DG_FAILED) {
                note_wrong(t, &c->tune);
                e = DG_OK;
            }
        }
    }
    return e;
}

static dg_err measure_before(tuner *s, const dg_op *op, dg_tuned *t, bool *right)
{
    choice now = {.tune = op->tune}, direct = {.tune = direct_of(op)};
    dg_err e = fill(s, op, 0);
    if (!e) e = time_choice(s, op, &now, s->o->repeats);
    if (e) return failed(e, op, &now.tune);
    e = time_choice(s, op, &direct, QUICK);
    if (e) return failed(e, op, &direct.tune);
    t->before = op->tune;
    t->before_us = now.us;
    t->direct_us = direct.us;
    e = judge(s, op, &op->tune);
    *right = !e;
    if (e == DG_FAILED) note_wrong(t, &op->tune);
    return e == DG_FAILED ? DG_OK : e;
}

/* `until` is the deadline of the first pass over the choices; 0: none. */
static dg_err tune_op(tuner *s, const dg_op *op, double until, dg_tuned *t, bool *found)
{
    bool before = false, right = false;
    int looked = 0;
    *t = (dg_tuned){.op = *op};
    dg_err e = list_choices(s, op);
    if (!e) e = measure_before(s, op, t, &before);
    if (!e) e = fill(s, op, 0);
    if (!e) e = look(s, until, t, &looked);
    if (!e) e = pick(s, op, looked, t, &right);
    *found = before || right;
    if (before && (!right || t->us > CLEARLY * t->before_us)) t->best = t->before, t->us = t->before_us;
    return e;
}

static bool same_key(const dg_op *a, const dg_op *b)
{
    char x[256], y[256];
    const dg_tune none = {0};
    return !strcmp(dg_tune_text(x, sizeof x, a, &none), dg_tune_text(y, sizeof y, b, &none));
}

static int costly_first(const void *a, const void *b)
{
    const target *x = a, *y = b;
    return (x->ms < y->ms) - (x->ms > y->ms);
}

/* Op `advance` is not tuned, because it only increments a counter. */
static dg_err list_targets(tuner *s, target *list, double *ms)
{
    const dg_plan *p = &s->trial->job.plan[DG_PLAN_TRAIN];
    dg_err e = dg_trial_ops(s->trial, ms);
    if (!e) e = dg_trial_ops(s->trial, ms);
    for (int i = 0; i < p->ops && !e; i++) {
        int k = 0;
        if (p->op[i].kind == DG_OP_advance) continue;
        while (k < s->ops && !same_key(&p->op[list[k].op], &p->op[i])) k++;
        if (k == s->ops) list[s->ops++] = (target){i, 0};
        list[k].ms += ms[i];
    }
    qsort(list, (size_t)s->ops, sizeof *list, costly_first);
    return e;
}

static dg_err run(tuner *s, target *list, dg_tuner_result *result)
{
    double left = 0;
    dg_err e = DG_OK;
    for (int i = 0; i < s->ops; i++) left += list[i].ms;
    for (s->at = 0; s->at < s->ops && !e && !stopped(s) && !late(s, 0, s->at); s->at++) {
        const double now = dg_clock(), share = left > 0 ? list[s->at].ms / left : 1;
        const dg_op op = s->trial->job.plan[DG_PLAN_TRAIN].op[list[s->at].op];
        dg_tuned t;
        bool found = false;
        e = tune_op(s, &op, s->end > 0 ? now + 0.7 * share * (s->end - now) : 0, &t, &found);
        left -= list[s->at].ms;
        result->tried += t.tried;
        result->wrong += t.wrong;
        if (!e && !found)
            dg_warn("%s is not tuned: no variant gives the results of variant direct; %s", op.name, t.first_wrong);
        else if (!e) {
            result->done++;
            e = s->o->found(s->o->context, &t);
        }
    }
    return e;
}

dg_err dg_tuner_run(dg_trial *t, const dg_tuner_options *o, dg_tuner_result *result)
{
    dg_backend *b = t->job.backend;
    *result = (dg_tuner_result){0};
    if (!b->choices)
        return dg_fail(DG_USAGE, "dcgan tune is for CUDA devices; on %s, use --conv or DCGAN_ISA", b->name);
    const size_t ops = (size_t)t->job.plan[DG_PLAN_TRAIN].ops, runs = (size_t)(o->repeats > QUICK ? o->repeats : QUICK);
    tuner s = {.trial = t, .b = b, .o = o, .end = o->seconds > 0 ? dg_clock() + o->seconds : 0};
    target *list = calloc(ops, sizeof *list);
    double *ms = calloc(ops, sizeof *ms);
    s.list = malloc(DG_VARIANT_LIST * sizeof *s.list);
    s.ms = malloc(runs * sizeof *s.ms);
    dg_err e = list && ms && s.list && s.ms ? list_targets(&s, list, ms)
                                            : dg_fail(DG_DEVICE, "out of memory for the list of ops");
    result->ops = s.ops;
    if (!e) e = run(&s, list, result);
    if (s.scratch) b->release(b, s.scratch);
    free(list);
    free(ms);
    free(s.list);
    free(s.ms);
    return e;
}
