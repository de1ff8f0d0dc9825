/* Rows of the op table for batch norm: checks, error limits, cost. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/plan/limits.h"
#include "core/tune/norm_chunks.h"
#include "core/plan/work.h"
#include "kernels/ops/ops.h"

/* The error limit of a mean is relative to the spread of the values, 1 / rstd. */
static double stats_limit(const dg_op_values *v, const dg_check_operand *o, size_t i, double want)
{
    const dg_norm_stats_args *a = &v->op[0]->u.norm_stats;
    if (!strcmp(o->name, "mean")) return 8 * v->eps * (want + 1 / dg_value_after(v, "rstd", i));
    if (!strcmp(o->name, "rstd")) return 32 * v->eps * want;
    const bool mean = !strcmp(o->name, "running_mean");
    double sum = fabs(dg_value_before(v, o->name, i));
    for (size_t k = i; k < (size_t)a->groups * (size_t)a->C; k += (size_t)a->C) {
        const double spread = 1 / dg_value_after(v, "rstd", k);
        sum += mean ? fabs(dg_value_after(v, "mean", k)) + spread : spread * spread;
    }
    return (mean ? 8 : 32) * v->eps * sum;
}

static double act_limit(const dg_op_values *v, const dg_check_operand *o, size_t i, double want)
{
    (void)o, (void)want;
    const dg_norm_act_args *a = &v->op[0]->u.norm_act;
    const size_t C = (size_t)a->C, rows = dg_values_find(v, "x")->count / C / (size_t)a->groups;
    const size_t c = i % C, gc = i / C / rows * C + c;
    const double size = fabs(dg_value_before(v, "gamma", c)) * dg_value_before(v, "rstd", gc);
    return 8 * v->eps *
           (size * (fabs(dg_value_before(v, "x", i)) + fabs(dg_value_before(v, "mean", gc))) +
            fabs(dg_value_before(v, "beta", c)));
}

/* Sums of the magnitudes of the terms of dbeta (g) and of dgamma (gx), per group and channel. The activation's
 * derivative jumps at z = gamma * xhat + beta = 0, where rounding may change the sign of z. `loose` and `loose_x` are
 * the possible errors of g and gx near the jump. */
typedef struct {
    double g, gx, loose, loose_x;
} channel;

typedef struct {
    double g, xhat, loose;
} gradient;

static gradient gradient_at(const dg_op_values *v, size_t i, size_t gc, size_t c)
{
    const dg_norm_act_args *a = &v->op[0]->u.norm_act;
    const double below = dg_act_factor(a->act, a->slope);
    const double dy = fabs(dg_value_before(v, "dy", i)), mean = dg_value_before(v, "mean", gc),
                 rstd = dg_value_before(v, "rstd", gc), gamma = dg_value_before(v, "gamma", c);
    const double xhat = (dg_value_before(v, "x", i) - mean) * rstd, beta = dg_value_before(v, "beta", c),
                 z = gamma * xhat + beta;
    const double doubt = 8 * v->eps * (fabs(gamma) * rstd * (fabs(xhat) / rstd + fabs(mean)) + fabs(beta));
    return (gradient){z > 0 ? dy : below * dy, fabs(xhat), fabs(z) <= doubt ? (1 - below) * dy : 0};
}

static dg_err dx_limits(const dg_op_values *v)
{
    const dg_norm_act_args *a = &v->op[0]->u.norm_act;
    const size_t C = (size_t)a->C, groups = (size_t)a->groups, rows = dg_values_find(v, "x")->count / C / groups;
    const dg_check_operand *dx = dg_values_find(v, "dx"), *dgamma = dg_values_find(v, "dgamma"),
                           *dbeta = dg_values_find(v, "dbeta");
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
        dx->limit[i] = fabs(dg_value_before(v, "gamma", c)) * dg_value_before(v, "rstd", gc) *
                       (eps * (d.g + s->g / n + d.xhat * s->gx / n) + d.loose + s->loose / n + d.xhat * s->loose_x / n);
    }
    for (size_t gc = 0; gc < groups * C; gc++) {
        if (dbeta) dbeta->limit[gc % C] += eps * sum[gc].g + sum[gc].loose;
        if (dgamma) dgamma->limit[gc % C] += eps * sum[gc].gx + sum[gc].loose_x;
    }
    free(sum);
    return DG_OK;
}

static double volume(int N, int H, int W, int C) { return (double)N * H * W * C; }

static double stats_flops(const dg_op *op)
{
    const dg_norm_stats_args *a = &op->u.norm_stats;
    return 4 * volume(a->N, a->H, a->W, a->C);
}

static const char *whole_groups(int N, int groups)
{
    return N % groups ? "N is not a multiple of the number of groups" : NULL;
}
static const char *stats_complete(dg_op *op) { return whole_groups(op->u.norm_stats.N, op->u.norm_stats.groups); }
static const char *act_complete(dg_op *op) { return whole_groups(op->u.norm_act.N, op->u.norm_act.groups); }

static size_t scratch(int N, int H, int W, int C, int groups, bool totals)
{
    const int chunks = dg_norm_chunk_count((int64_t)(N / groups) * H * W);
    return (size_t)groups * (size_t)(chunks + totals) * 2 * (size_t)C * sizeof(double);
}

static size_t stats_scratch(const dg_op *op, dg_type real)
{
    (void)real;
    const dg_norm_stats_args *a = &op->u.norm_stats;
    return scratch(a->N, a->H, a->W, a->C, a->groups, false);
}

static size_t dx_scratch(const dg_op *op, dg_type real)
{
    (void)real;
    const dg_norm_act_args *a = &op->u.norm_act;
    return scratch(a->N, a->H, a->W, a->C, a->groups, true);
}

static void stats_work(const dg_op *op, dg_type real, dg_work *w)
{
    (void)op, (void)real;
    w->kernels = 2;
}

/* Counts the reads of x and dy by the second pass. */
static void dx_work(const dg_op *op, dg_type real, dg_work *w)
{
    const dg_norm_act_args *a = &op->u.norm_act;
    w->kernels = 3;
    w->moved = 2 * (double)dg_type_bytes(real) * volume(a->N, a->H, a->W, a->C);
}

const dg_op_info dg_info_norm_stats = {
    .operand = {DG_OUTPUT(norm_stats, mean, groups, C), DG_OUTPUT(norm_stats, rstd, groups, C),
                DG_UPDATED(norm_stats, running_mean, C), DG_UPDATED(norm_stats, running_var, C),
                DG_INPUT(norm_stats, x, N, H, W, C), DG_WORKSPACE(norm_stats)},
    .shape = {DG_NHWC(norm_stats), {"groups", DG_FIELD(norm_stats, groups)}},
    .complete = stats_complete,
    .wide = DG_FIELDS(norm_stats, C),
    .flops = stats_flops,
    .scratch = stats_scratch,
    .work = stats_work,
    .variants = {&dg_direct, &dg_vector},
    .limit = stats_limit,
};

const dg_op_info dg_info_norm_frozen = {
    .operand = {DG_OUTPUT(norm_frozen, mean, C), DG_OUTPUT(norm_frozen, rstd, C),
                DG_INPUT(norm_frozen, running_mean, C), DG_INPUT(norm_frozen, running_var, C)},
    .shape = {{"C", DG_FIELD(norm_frozen, C)}},
    .flops_each = 3,
    .variants = {&dg_direct},
    .limits = dg_limits_relative,
    .roundings = 8,
};

const dg_op_info dg_info_norm_act = {
    .operand = {DG_OUTPUT(norm_act, y, N, H, W, C), DG_INPUT(norm_act, x, N, H, W, C),
                DG_INPUT(norm_act, mean, groups, C), DG_INPUT(norm_act, rstd, groups, C), DG_INPUT(norm_act, gamma, C),
                DG_INPUT(norm_act, beta, C)},
    .shape = {DG_NHWC(norm_act), {"groups", DG_FIELD(norm_act, groups)}},
    .complete = act_complete,
    .wide = DG_FIELDS(norm_act, C),
    .flops_each = 5,
    .variants = {&dg_direct, &dg_vector},
    .limit = act_limit,
};

const dg_op_info dg_info_norm_act_dx = {
    .operand = {DG_OUTPUT(norm_act, dx, N, H, W, C), DG_OUTPUT(norm_act, dgamma, C), DG_OUTPUT(norm_act, dbeta, C),
                DG_INPUT(norm_act, dy, N, H, W, C), DG_INPUT(norm_act, x, N, H, W, C),
                DG_INPUT(norm_act, mean, groups, C), DG_INPUT(norm_act, rstd, groups, C), DG_INPUT(norm_act, gamma, C),
                DG_INPUT(norm_act, beta, C), DG_WORKSPACE(norm_act)},
    .shape = {DG_NHWC(norm_act), {"groups", DG_FIELD(norm_act, groups)}},
    .complete = act_complete,
    .wide = DG_FIELDS(norm_act, C),
    .flops_each = 13,
    .scratch = dx_scratch,
    .work = dx_work,
    .variants = {&dg_direct, &dg_vector},
    .limits = dx_limits,
};
