/* Test cases for optimizers and for averages of weights. */
#include "op_rows.h"

enum { NET = 1, BAD = 6 };

/* n, step, percentage of values with weight decay. Some steps exceed DG_RING. */
static op_shape update_shapes[] = {
    {1, 0, 0},     {1, 1500, 100},    {2, 1500, 50},  {3, 0, 34},        {4, 3000, 100},    {7, 1, 14},
    {16, 0, 50},   {17, 1500, 6},     {63, 3000, 34}, {68, 0, 100},      {100, 1500, 0},    {1025, 3000, 50},
    {4096, 0, 34}, {4097, 1500, 100}, {8191, 1, 50},  {20000, 1028, 20}, {50001, 3000, 34},
};

/* Large test cases get non-finite values at the beginning and end, with and without weight decay. */
static void update_values(dg_op *op)
{
    static const int at[] = {0, 1, 15, 4095, 4096, 17000, 19999};
    const int64_t n = (int64_t)op_count(op, "p");
    op_fill(op, "g", 0.5, 0);
    if (n != 20000) return;
    double *p = op_values(op, "p"), *g = op_values(op, "g");
    for (int i = 0; i < 7; i++) g[at[i]] = i & 1 ? NAN : 0;
    p[5] = p[n - 9] = INFINITY;
}

static void adam_set(dg_op *op, int variation)
{
    static const double beta2[] = {0.999, 0.9, 0.99, 0.999};
    dg_adam_args *a = &op->u.adam;
    a->beta1 = 0.5, a->eps = 1e-8;
    a->net = variation & 1, a->bad = BAD;
    op_state.beta2 = beta2[variation];
    op_state.step = (uint64_t)op_more[0];
    op_state.lr[1] = 1e-3;
    op_fill(op, "m", 0.1, 0);
    op_fill(op, "v", 0.1, 0.2);
    update_values(op);
}

static void update_set(dg_op *op, int variation)
{
    dg_update_args *a = &op->u.update;
    a->momentum = op->kind == DG_OP_sgd && variation ? 0.9 : 0;
    a->nesterov = variation == 2;
    a->rho = 0.9, a->decay = 0.01, a->eps = op->kind == DG_OP_adagrad ? 1e-10 : 1e-6;
    a->net = NET, a->bad = BAD;
    a->decayed = (a->n * op_more[1] + 99) / 100;
    op_state.step = (uint64_t)op_more[0];
    if (op->kind == DG_OP_sgd && !variation) op_point(op, "m", NULL);
    else if (a->m) op_fill(op, "m", 0.1, 0.125);
    if (a->v) op_fill(op, "v", 0.1, 0.125);
    update_values(op);
}

static op_bound update_bound(const dg_op *want, const char *result, double eps)
{
    const bool adam = want->kind == DG_OP_adam;
    const double relative = (adam ? 4 : 6) * eps;
    if (strcmp(result, "ring") == 0) return (op_bound){0, 0};
    const double least = *result == 'p' ? adam ? 0.01 : 0.1 : *result == 'm' ? adam ? 0.5 : 1 : adam ? 0 : 0.02;
    return (op_bound){relative, relative * least};
}

static const op_row row_adam, row_sgd, row_adagrad, row_adadelta;

static const struct optimizer {
    const op_row *row;
    dg_op_kind kind;
    int variation;
} optimizers[] = {{&row_adam, DG_OP_adam, 0}, {&row_sgd, DG_OP_sgd, 0},         {&row_sgd, DG_OP_sgd, 1},
                  {&row_sgd, DG_OP_sgd, 2},   {&row_adagrad, DG_OP_adagrad, 0}, {&row_adadelta, DG_OP_adadelta, 0}};
enum { OPTIMIZERS = sizeof optimizers / sizeof *optimizers };

/* Returns an optimizer op in which `percent` of n values have weight decay, and the moments m and v are 0. */
static dg_op zeroed(const struct optimizer *o, int n, int percent)
{
    const int shape[] = {n, 0, percent};
    dg_op op = op_make(o->row, o->kind, shape, o->variation);
    const char *const names[] = {"m", "v", "g"};
    for (int i = 0; i < 3; i++)
        if (dg_operand_index(o->kind, names[i]) >= 0 && op_values(&op, names[i])) op_zero(&op, names[i]);
    return op;
}

/* Zeros, as in gaps between tensors, must stay zero. Without gradient and decay, no weight may change. */
static void check_zero(dg_backend *b, const struct optimizer *o)
{
    enum { N = 40 };
    static const double zeros[N];
    const char *const names[] = {"p", "m", "v"};
    dg_op op = zeroed(o, N, 100);
    op_zero(&op, "p");
    for (op_state.step = 0; op_state.step < 3; op_state.step++) op_run(b, &op);
    for (int i = 0; i < 3; i++) {
        const double *x = dg_operand_index(o->kind, names[i]) < 0 ? NULL : op_values(&op, names[i]);
        DG_CHECKF(!x || !memcmp(x, zeros, sizeof zeros), "%s: %s: zeros of %s move", b->name, dg_op_kind_name(o->kind),
                  names[i]);
    }
    op = zeroed(o, N, 0);
    const double *before = dg_case_copy(op_values(&op, "p"), N);
    op_run(b, &op);
    DG_CHECKF(!memcmp(op_values(&op, "p"), before, sizeof zeros), "%s: %s moves without gradient", b->name,
              dg_op_kind_name(o->kind));
}

static void check_optimizers(dg_backend *b)
{
    for (int i = 0; i < OPTIMIZERS; i++) check_zero(b, &optimizers[i]);
}

#define UPDATE_ROW(set_, ...)                                                                                     \
    {                                                                                                             \
        OP_SHAPES(update_shapes), .threads = {{40009, 5, 50}, {4009, 5, 50}}, .set = set_, .bound = update_bound, \
                                  __VA_ARGS__                                                                     \
    }
/* NaN in v is untested, because Adam's CUDA kernel assumes that m is NaN if v is NaN. */
static const op_row row_adam = UPDATE_ROW(adam_set, .variations = 4, .nan_untested = "v", .more = check_optimizers);
static const op_row row_sgd = UPDATE_ROW(update_set, .variations = 3, .usual = 2);
static const op_row row_adagrad = UPDATE_ROW(update_set, .variations = 1);
static const op_row row_adadelta = UPDATE_ROW(update_set, .variations = 1);

/* ---- Averages of weights ---- */

/* n, step */
static op_shape ema_shapes[] = {{1, 0},        {2, 3},  {3, 1000000}, {4, 0},    {5, 3},         {31, 1},
                                {64, 1000000}, {67, 3}, {1000, 0},    {1000, 3}, {4099, 1000000}};

static void ema_set(dg_op *op, int variation)
{
    (void)variation;
    op_state.ema = 0.999;
    op_state.step = (uint64_t)*op_more;
    op_fill(op, "p", 1, 0.5);
}

static const op_row row_ema;

/* In step s the weights are s + 1. The average follows its definition even if it is NaN at the start. */
static void check_ramp(dg_backend *b)
{
    const int shape[] = {3, 0};
    dg_op op = op_make(&row_ema, DG_OP_ema, shape, 0);
    double *average = op.u.ema.average, *p = op.u.ema.p, want = 0;
    op_state.ema = 0.75;
    for (int k = 0; k < 3; k++) average[k] = NAN;
    for (int s = 0; s < 100; s++) {
        const double d = s < 30 ? s / (s + 10.0) : 0.75;
        want = s ? d * want + (1 - d) * (s + 1) : 1;
        op_state.step = (uint64_t)s;
        for (int k = 0; k < 3; k++) p[k] = s + 1;
        op_run(b, &op);
        for (int k = 0; k < 3; k++) DG_NEAR(average[k] / want, 1, 10 * dg_case_eps(b));
    }
    DG_NEAR(want, 100 - 3, 0.01); /* with decay 0.75 the average lags by 0.75 / 0.25 = 3 steps */
}

static const op_row row_ema = {OP_SHAPES(ema_shapes), .threads = {{70001, 77}, {3011, 77}}, .set = ema_set,
                               .within = {4, 4}, .more = check_ramp};
