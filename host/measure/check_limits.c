/* How far two backends may be apart in each value that an op writes: what rounding of its inputs' size explains. */
#include "host/measure/check_parts.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

double dg_check_value(const dg_check_operand *o, const void *values, size_t i)
{
    return o->row[0]->type == DG_F32 ? (double)((const float *)values)[i] : ((const double *)values)[i];
}

/* Operands by name, as they were before the op; the result of one as the reference has it. */
typedef struct {
    const dg_op *op;
    const dg_check_operand *operand;
    int operands;
    double eps;
} op_values;

static const dg_check_operand *find(const op_values *v, const char *name)
{
    for (int i = 0; i < v->operands; i++)
        if (!strcmp(v->operand[i].name, name) && v->operand[i].before) return &v->operand[i];
    return NULL;
}

static double before(const op_values *v, const char *name, size_t i)
{
    const dg_check_operand *o = find(v, name);
    return o ? dg_check_value(o, o->before, i) : 0;
}

static double after(const op_values *v, const char *name, size_t i)
{
    const dg_check_operand *o = find(v, name);
    return o ? dg_check_value(o, o->want, i) : 0;
}

/* ---- Batch norm ---- */

/* A mean is right to a part of the values' spread, 1 / rstd. */
static double stats_limit(const op_values *v, const char *name, size_t i, double want)
{
    const dg_norm_stats_args *a = &v->op->u.norm_stats;
    if (!strcmp(name, "mean")) return 8 * v->eps * (want + 1 / after(v, "rstd", i));
    if (!strcmp(name, "rstd")) return 32 * v->eps * want;
    double sum = fabs(before(v, name, i));
    for (size_t k = i; k < (size_t)a->groups * (size_t)a->C; k += (size_t)a->C) {
        const double spread = 1 / after(v, "rstd", k);
        sum += !strcmp(name, "running_mean") ? fabs(after(v, "mean", k)) + spread : spread * spread;
    }
    return (!strcmp(name, "running_mean") ? 8 : 32) * v->eps * sum;
}

static double norm_act_limit(const op_values *v, size_t i)
{
    const size_t C = (size_t)v->op->u.norm_act.C, rows = find(v, "x")->count / C / (size_t)v->op->u.norm_act.groups;
    const size_t c = i % C, gc = i / C / rows * C + c;
    const double size = fabs(before(v, "gamma", c)) * before(v, "rstd", gc);
    return 8 * v->eps * (size * (fabs(before(v, "x", i)) + fabs(before(v, "mean", gc))) + fabs(before(v, "beta", c)));
}

/* What the gradient of a channel of a group adds up. The derivative jumps where gamma * xhat + beta passes zero, and
 * rounding decides on which side a value is that lies there: loose is what such values could change. */
typedef struct {
    double g, gx, loose, loose_x;
} channel;

typedef struct {
    double g, xhat, loose;
} gradient;

static gradient gradient_at(const op_values *v, size_t i, size_t gc, size_t c)
{
    const dg_norm_act_args *a = &v->op->u.norm_act;
    const double below = a->act == DG_ACT_RELU    ? 0
                         : a->act == DG_ACT_LEAKY ? a->slope
                                                  : 1,
                 dy = fabs(before(v, "dy", i));
    const double mean = before(v, "mean", gc), rstd = before(v, "rstd", gc), gamma = before(v, "gamma", c);
    const double xhat = (before(v, "x", i) - mean) * rstd, beta = before(v, "beta", c), z = gamma * xhat + beta;
    const double doubt = 8 * v->eps * (fabs(gamma) * rstd * (fabs(xhat) / rstd + fabs(mean)) + fabs(beta));
    return (gradient){z > 0 ? dy : below * dy, fabs(xhat), fabs(z) <= doubt ? (1 - below) * dy : 0};
}

static dg_err norm_act_dx_limits(const op_values *v)
{
    const dg_norm_act_args *a = &v->op->u.norm_act;
    const size_t C = (size_t)a->C, groups = (size_t)a->groups, rows = find(v, "x")->count / C / groups;
    const dg_check_operand *dx = find(v, "dx"), *dgamma = find(v, "dgamma"), *dbeta = find(v, "dbeta");
    channel *sum = calloc(groups * C, sizeof *sum);
    if (!sum) return dg_fail(DG_DEVICE, "out of memory for comparing");
    const double eps = 16 * v->eps, n = (double)rows;
    for (size_t i = 0; i < groups * rows * C; i++) {
        const size_t c = i % C, gc = i / C / rows * C + c;
        const gradient d = gradient_at(v, i, gc, c);
        sum[gc].g += d.g;
        sum[gc].gx += d.g * d.xhat;
        sum[gc].loose += d.loose;
        sum[gc].loose_x += d.loose * d.xhat;
    }
    for (size_t i = 0; i < groups * rows * C; i++) {
        const size_t c = i % C, gc = i / C / rows * C + c;
        const channel *s = &sum[gc];
        const gradient d = gradient_at(v, i, gc, c);
        dx->limit[i] = fabs(before(v, "gamma", c)) * before(v, "rstd", gc) *
                       (eps * (d.g + s->g / n + d.xhat * s->gx / n) + d.loose + s->loose / n + d.xhat * s->loose_x / n);
    }
    for (size_t gc = 0; gc < groups * C; gc++) {
        if (dbeta) dbeta->limit[gc % C] += eps * sum[gc].g + sum[gc].loose;
        if (dgamma) dgamma->limit[gc % C] += eps * sum[gc].gx + sum[gc].loose_x;
    }
    free(sum);
    return DG_OK;
}

/* ---- The others ---- */

/* A step of Adam is at most about lr in size, whatever the gradient. */
static double adam_limit(const op_values *v, const char *name, size_t i, double want)
{
    if (!strcmp(name, "m")) return 4 * v->eps * (fabs(before(v, "m", i)) + fabs(before(v, "g", i)));
    if (!strcmp(name, "v")) return 8 * v->eps * want;
    const double moved = fabs(after(v, "p", i) - before(v, "p", i));
    const dg_step_state *state = find(v, "state")->before;
    return v->eps * (4 * want + 32 * moved + 64 * state->lr[v->op->u.adam.net]);
}

static double limit_of(const op_values *v, const dg_check_operand *o, size_t i)
{
    const double want = fabs(dg_check_value(o, o->want, i)), eps = v->eps;
    if (o->row[0]->kind == DG_STATE) return 1e-12 * want; /* losses are sums in double everywhere, and counts */
    switch (v->op->kind) {
    case DG_OP_norm_stats: return stats_limit(v, o->name, i, want);
    case DG_OP_norm_frozen: return 8 * eps * want;
    case DG_OP_norm_act: return norm_act_limit(v, i);
    case DG_OP_act: return 16 * eps * want; /* tanh of two libraries */
    case DG_OP_act_dx: return 8 * eps * want;
    case DG_OP_bce: return 4 * eps * want; /* in double, rounded once */
    case DG_OP_adam: return adam_limit(v, o->name, i, want);
    case DG_OP_gather: return 4 * eps;                 /* values in -1..1 */
    case DG_OP_noise: return 16 * eps * (want + 0.01); /* logarithm, sine and cosine of two libraries */
    default: return 0;
    }
}

/* What a denormal number is worth: the CPU counts it as zero. */
static double smallest(dg_type type) { return type == DG_F32 ? (double)FLT_MIN : DBL_MIN; }

dg_err dg_check_limits(const dg_op *op, dg_check_operand *operand, int operands, double eps)
{
    const op_values v = {op, operand, operands, eps};
    dg_err e = op->kind == DG_OP_norm_act_dx ? norm_act_dx_limits(&v) : DG_OK;
    for (int k = 0; k < operands && !e; k++) {
        dg_check_operand *o = &operand[k];
        for (size_t i = 0; o->limit && i < o->count; i++) {
            if (op->kind != DG_OP_norm_act_dx) o->limit[i] = limit_of(&v, o, i);
            o->limit[i] += smallest(o->row[0]->type);
        }
    }
    return e;
}
