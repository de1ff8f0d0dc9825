/* Test cases for activations of a tensor, of the sum of two tensors, and of a tensor plus a bias. */
#include "op_rows.h"

static op_shape act_shapes[] = {{1},  {2},   {3},   {7},   {15},   {16},   {17},
                                {33}, {100}, {127}, {256}, {1000}, {4097}, {8191}};
static op_shape add_shapes[] = {{1},  {2},  {3},   {4},   {7},   {8},    {15},   {16},   {17},   {31},
                                {33}, {67}, {100}, {127}, {256}, {1021}, {4096}, {4097}, {8193}, {12289}};

/* Keeps values away from the kink of an activation, where finite differences do not give the slope. */
static void act_set(dg_op *op, int variation)
{
    op->u.act.act = (dg_act)variation;
    op->u.act.slope = 0.2;
    op_fill(op, "x", 4, 0);
    double *x = op->u.act.x;
    for (int64_t i = 0; i < op->u.act.n; i++)
        if (fabs(x[i]) < 1e-3) x[i] = 1;
}

/* Fills y with activation values that are exact in float, and one 0, where PyTorch uses the slope for z < 0. */
static void act_dx_set(dg_op *op, int variation)
{
    dg_op forward = {.kind = DG_OP_act, .u.act = op->u.act};
    forward.u.act.x = dg_case_numbers((size_t)op->u.act.n, 4, 0);
    forward.u.act.act = op->u.act.act = (dg_act)variation;
    forward.u.act.slope = op->u.act.slope = 0.2;
    dg_ref_run(&forward);
    double *y = op->u.act.y;
    for (int64_t i = 0; i < op->u.act.n; i++) y[i] = i == 1 ? 0 : (double)(float)y[i];
}

/* Includes a sum that cancels and a sum that is NaN. */
static void add_set(dg_op *op, int variation)
{
    op->u.add.act = (dg_act)variation;
    op->u.add.slope = 0.2;
    op_fill(op, "a", 2, 0);
    op_fill(op, "b", 2, 0);
    double *a = op->u.add.a, *b = op->u.add.b;
    if (op->u.add.n < 10) return;
    a[7] = INFINITY, b[7] = -INFINITY;
    b[9] = -a[9];
}

/* Checks that tanh is odd, at most 1 and correct within three units in the last place, also for special values. */
static void check_tanh(dg_backend *b)
{
    enum { SPECIALS = 8 };
    const int n = dg_case_slowness() ? 3000 : 60000;
    dg_op op = {.kind = DG_OP_act};
    op.u.act = (dg_act_args){.y = dg_case_numbers((size_t)n, 1, 0),
                             .x = dg_case_numbers((size_t)n, 1, 0),
                             .n = n,
                             .act = DG_ACT_TANH};
    double *x = op.u.act.x, *y = op.u.act.y;
    const double end = b->real == DG_F64 ? 22 : 11;
    for (int i = 0; i < n; i++) {
        const double t = (i / 2 + 1) / (double)(n / 2), v = (double)(float)(i % 4 < 2 ? t * end : exp(-30 * t));
        x[i] = i & 1 ? -v : v;
    }
    op_run(b, &op);
    double worst = 0;
    for (int i = 0; i < n; i++) {
        const long double want = tanhl((long double)x[i]);
        const double e = (double)fabsl(y[i] - want) / ldexp(2 * dg_case_eps(b), ilogb((double)want));
        const bool lost = fabs(y[i]) > 1 || (i & 1 && y[i] != -y[i - 1]);
        if (!(e <= worst) || lost) worst = lost ? INFINITY : e;
    }
    DG_CHECKF(worst <= 3, "%s: tanh is %g ulp off", b->name, worst);
    static const double in[SPECIALS] = {0, -0.0, INFINITY, -INFINITY, NAN, 1e30, -1e30, FLT_MIN};
    static const double out[SPECIALS] = {0, -0.0, 1, -1, NAN, 1, -1, FLT_MIN};
    memcpy(x, in, sizeof in);
    op.u.act.n = SPECIALS;
    op_run(b, &op);
    for (int i = 0; i < SPECIALS; i++)
        DG_CHECKF(isnan(out[i]) ? isnan(y[i]) : y[i] == out[i] && !signbit(y[i]) == !signbit(out[i]),
                  "%s: tanh(%g) = %g", b->name, in[i], y[i]);
}

static const op_row row_act = {.variations = DG_ACT_KINDS,
                               .usual = DG_ACT_TANH,
                               OP_SHAPES(act_shapes),
                               .threads = {{60011}, {3011}},
                               .set = act_set,
                               .within = {6, 0},
                               .same = {{"y", "x"}},
                               .gradient = {{{"x", "dx"}}, DG_OP_act_dx, "dy", .most = 1000},
                               .more = check_tanh};

static const op_row row_act_dx = {.variations = DG_ACT_KINDS,
                                  .usual = DG_ACT_TANH,
                                  OP_SHAPES(act_shapes),
                                  .threads = {{60011}, {3011}},
                                  .set = act_dx_set,
                                  .within = {16, 0.16},
                                  .same = {{"dx", "dy"}}};

static const op_row row_add = {.variations = DG_ACT_KINDS,
                               .usual = DG_ACT_RELU,
                               OP_SHAPES(add_shapes),
                               .threads = {{60011}, {3011}},
                               .set = add_set,
                               .within = {8, 0},
                               .same = {{"y", "a"}, {"y", "b"}, {"a", "b"}, {"y", "a", "b"}}};

/* N, H, W, C of one pixel, of dense layers, and of sums over pixels. The sums are split into few parts, into more
 * parts than a warp has lanes, or into the maximum number of parts. */
static op_shape bias_shapes[] = {
    {1, 1, 1, 1},    {1, 1, 1, 67},  {2, 1, 1, 4},    {2, 1, 1, 257}, {1, 1, 3, 1},     {1, 1, 3, 64},
    {3, 5, 7, 1},    {3, 5, 7, 3},   {3, 5, 7, 20},   {128, 1, 1, 5}, {128, 1, 1, 516}, {1, 9, 4, 3},
    {1, 9, 4, 256},  {5, 6, 5, 5},   {5, 6, 5, 4},    {300, 1, 1, 1}, {300, 1, 1, 20},  {4, 13, 11, 5},
    {4, 13, 11, 64}, {2, 17, 19, 3}, {2, 17, 19, 67}, {2, 65, 67, 1}, {2, 65, 67, 4},   {5, 115, 117, 1},
};

/* Some variations of the gradient have no db. */
static void bias_set(dg_op *op, int variation)
{
    dg_bias_act_args *a = &op->u.bias_act;
    a->act = (dg_act)(variation % DG_ACT_KINDS);
    a->slope = 0.2;
    if (op->kind == DG_OP_bias_act_dx) {
        if (variation >= DG_ACT_KINDS) op_point(op, "db", NULL);
        return;
    }
    op_fill(op, "x", 2, 0);
    double *x = a->x, *b = a->b;
    for (size_t i = 0, n = op_count(op, "x"); i < n; i++)
        if (fabs(x[i] + b[i % (size_t)a->C]) < 1e-3) x[i] = (double)(float)(x[i] + 0.01);
}

static op_bound bias_dx_bound(const dg_op *want, const char *result, double eps)
{
    const size_t C = (size_t)want->u.bias_act.C, n = op_count(want, "dx");
    const double *dx = want->u.bias_act.dx;
    double most = 0;
    if (strcmp(result, "dx") == 0) return (op_bound){16 * eps, 16 * eps * 1e-2};
    for (size_t c = 0; c < C; c++) {
        double terms = 0;
        for (size_t i = c; i < n; i += C) terms += fabs(dx[i]);
        most = fmax(most, terms);
    }
    return (op_bound){0, 8 * eps * most};
}

static void check_no_sums(dg_backend *b)
{
    dg_op op = {.kind = DG_OP_bias_act_dx, .u.bias_act = {.N = 5, .H = 115, .W = 117, .C = 4}};
    DG_CHECKF(b->scratch(b, &op) > 0, "%s: sums without scratch memory", b->name);
    op.operand[op_operand(&op, "db")].row = -1;
    DG_CHECKF(b->scratch(b, &op) == 0, "%s: scratch memory, but no sums", b->name);
}

static const op_row row_bias_act = {.variations = DG_ACT_KINDS,
                                    .usual = DG_ACT_LEAKY,
                                    OP_SHAPES(bias_shapes),
                                    .threads = {{6, 29, 31, 12}, {6, 9, 11, 12}},
                                    .set = bias_set,
                                    .within = {8, 0},
                                    .same = {{"y", "x"}},
                                    .gradient = {{{"x", "dx"}, {"b", "db"}}, DG_OP_bias_act_dx, "dy", .most = 800}};

static const op_row row_bias_act_dx = {.variations = 2 * DG_ACT_KINDS,
                                       .usual = DG_ACT_LEAKY,
                                       OP_SHAPES(bias_shapes),
                                       .threads = {{6, 29, 31, 12}, {6, 17, 19, 12}},
                                       .set = bias_set,
                                       .bound = bias_dx_bound,
                                       .same = {{"dx", "dy"}},
                                       .more = check_no_sums};
