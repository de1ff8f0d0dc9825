/* Test cases for batch norm with an activation. */
#include "op_rows.h"

/* Distributions of x with mean `shift` and spread `scale`. */
static const struct {
    double shift, scale;
} spread[] = {{0, 1}, {1000, 1}, {-50, 0.01}, {3e4, 0.1}, {0, 1e-4}, {3, 1e6}};

/* N, H, W, C, groups, index of the distribution of x */
static op_shape norm_shapes[] = {
    {2, 1, 1, 1, 1},       {4, 1, 1, 1, 2},      {1, 3, 5, 1, 1},     {1, 7, 3, 3, 1},       {6, 5, 7, 3, 2},
    {2, 3, 3, 5, 2},       {3, 9, 9, 5, 3},      {1, 1, 2, 31, 1},    {2, 13, 11, 31, 1},    {4, 8, 9, 31, 2},
    {2, 16, 16, 32, 1},    {2, 33, 16, 32, 2},   {1, 17, 17, 64, 1},  {2, 4, 4, 127, 1},     {4, 5, 3, 127, 2},
    {2, 9, 7, 128, 1},     {2, 4, 4, 255, 2},    {4, 4, 4, 256, 2},   {1, 6, 11, 256, 1},    {2, 4, 5, 257, 1},
    {2, 3, 7, 300, 2},     {2, 5, 5, 513, 1},    {1, 2, 1, 1024, 1},  {2, 61, 67, 1, 1},     {2, 111, 113, 1, 2},
    {3, 41, 43, 6, 1},     {10, 3, 3, 16, 5},    {2, 19, 21, 24, 2},  {4, 16, 15, 33, 2, 1}, {2, 31, 29, 8, 1, 2},
    {2, 20, 20, 16, 1, 3}, {2, 15, 9, 40, 1, 4}, {2, 8, 8, 48, 2, 5},
};
static op_shape frozen_shapes[] = {{1}, {3}, {31}, {64}, {127}, {300}, {1024}};

/* Variation 1 has no running statistics. */
static void stats_set(dg_op *op, int variation)
{
    op->u.norm_stats.eps = 1e-5;
    op->u.norm_stats.momentum = 0.1;
    op_fill(op, "x", spread[*op_more].scale, spread[*op_more].shift);
    op_fill(op, "running_var", 0.5, 1);
    if (variation) op_point(op, "running_mean", NULL), op_point(op, "running_var", NULL);
}

static void frozen_set(dg_op *op, int variation)
{
    (void)variation;
    op->u.norm_frozen.eps = 1e-5;
    op_fill(op, "running_var", 0.5, 1);
}

static dg_op stats_of(const dg_op *op)
{
    const dg_norm_act_args *a = &op->u.norm_act;
    dg_op stats = {.kind = DG_OP_norm_stats};
    stats.u.norm_stats = (dg_norm_stats_args){.mean = a->mean,
                                              .rstd = a->rstd,
                                              .x = a->x,
                                              .N = a->N,
                                              .H = a->H,
                                              .W = a->W,
                                              .C = a->C,
                                              .groups = a->groups,
                                              .eps = 1e-5,
                                              .momentum = 0.1};
    op_add_operands(&stats);
    return stats;
}

/* Keeps values before the activation at least 1e-3 away from the activation's kink. */
static void norm_set(dg_op *op, int variation)
{
    dg_norm_act_args *a = &op->u.norm_act;
    a->act = (dg_act)(variation % DG_ACT_KINDS);
    while (!dg_act_is_linear(a->act)) a->act = (dg_act)((a->act + 1) % DG_ACT_KINDS);
    a->slope = 0.2;
    op_fill(op, "x", spread[*op_more].scale, spread[*op_more].shift);
    op_fill(op, "gamma", 0.5, 1);
    op_fill(op, "beta", 0.5, 0);
    const dg_op stats = stats_of(op);
    dg_ref_run(&stats);
    double *x = a->x, *mean = a->mean, *rstd = a->rstd;
    const double *gamma = a->gamma, *beta = a->beta;
    const size_t n = op_count(op, "x"), C = (size_t)a->C, groups = (size_t)a->groups;
    for (size_t i = 0; i < groups * C; i++) mean[i] = (double)(float)mean[i], rstd[i] = (double)(float)rstd[i];
    for (size_t i = 0; i < n; i++) {
        const size_t c = i % C, g = i / (n / groups) * C + c;
        while (fabs(gamma[c] * (x[i] - mean[g]) * rstd[g] + beta[c]) <= 1e-3)
            x[i] = (double)(float)(x[i] + 0.1 / rstd[g]);
    }
    if (op->kind == DG_OP_norm_act_dx && variation >= DG_ACT_KINDS)
        op_point(op, "dgamma", NULL), op_point(op, "dbeta", NULL);
}

/* Partial means are merged in double. The mean's error is the sum of the rounding errors of mean and spread. */
static op_bound stats_bound(const dg_op *want, const char *result, double eps)
{
    const size_t n = op_count(want, "x");
    const double *x = want->u.norm_stats.x;
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < n; i++) low = fmin(low, x[i]), high = fmax(high, x[i]);
    const double scale = (high - low) / 2, shift = (high + low) / 2;
    if (strcmp(result, "mean") == 0) return (op_bound){2 * eps, 2 * eps * scale};
    if (strcmp(result, "rstd") == 0) return (op_bound){12 * eps + 2e-17 * fabs(shift) / scale, 0};
    if (strcmp(result, "running_mean") == 0) return (op_bound){4 * eps, 4 * eps * scale};
    return (op_bound){16 * eps, 0.1 * 4e-17 * fabs(shift) * scale}; /* of rstd, for 0.1 times the variance */
}

static op_bound frozen_bound(const dg_op *want, const char *result, double eps)
{
    (void)want;
    return (op_bound){strcmp(result, "mean") == 0 ? 0 : 2 * eps, 0};
}

/* The tolerance of dx is relative to its largest term, because terms cancel. dgamma and dbeta are sums of values near
 * 1, so their error grows with the number of terms. */
static op_bound norm_bound(const dg_op *want, const char *result, double eps)
{
    if (strcmp(result, "y") == 0) return (op_bound){8 * eps, 8 * eps};
    if (strcmp(result, "dx") == 0)
        return (op_bound){8 * eps,
                          8 * eps * op_largest(want, "gamma") * op_largest(want, "rstd") * op_largest(want, "dy")};
    const double root = sqrt((double)op_count(want, "x") / want->u.norm_act.C), relative = fmax(root, 8) * eps;
    return (op_bound){relative, relative * 2 * root};
}

static void run_stats(dg_backend *b, const dg_op *op)
{
    const dg_op stats = stats_of(op);
    op_run(b, &stats);
}

#define NORM_THREADS .threads = {{6, 29, 31, 24, 2}, {6, 7, 9, 24, 2}}

static const op_row row_norm_stats = {
    .variations = 2, OP_SHAPES(norm_shapes), NORM_THREADS, .set = stats_set, .bound = stats_bound};

static const op_row row_norm_frozen = {OP_SHAPES(frozen_shapes), .threads = {{1024}, {300}}, .set = frozen_set,
                                       .bound = frozen_bound};

static const op_row row_norm_act = {.variations = DG_ACT_KINDS,
                                    .usual = DG_ACT_LEAKY,
                                    .turns = true,
                                    OP_SHAPES(norm_shapes),
                                    NORM_THREADS,
                                    .set = norm_set,
                                    .bound = norm_bound,
                                    .same = {{"y", "x"}},
                                    .gradient = {{{"x", "dx"}, {"gamma", "dgamma"}, {"beta", "dbeta"}},
                                                 DG_OP_norm_act_dx,
                                                 "dy",
                                                 .before = run_stats,
                                                 .most = 2000}};

static const op_row row_norm_act_dx = {.variations = 2 * DG_ACT_KINDS,
                                       .usual = DG_ACT_LEAKY,
                                       .turns = true,
                                       OP_SHAPES(norm_shapes),
                                       NORM_THREADS,
                                       .set = norm_set,
                                       .bound = norm_bound,
                                       .same = {{"dx", "dy"}}};
