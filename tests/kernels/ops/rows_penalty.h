/* Test cases for the ops of gradient penalties. */
#include "op_rows.h"

static op_shape fill_shapes[] = {{1}, {3}, {257}, {4099}};

static void fill_set(dg_op *op, int variation) { op->u.fill.value = variation ? -2.5 : 1; }

static const op_row row_fill = {
    .variations = 2, OP_SHAPES(fill_shapes), .threads = {{60011}, {3011}}, .set = fill_set, .nan_untested = "all"};

/* N, values per image, index of the first sample */
static op_shape mix_shapes[] = {{2, 1, 1},  {2, 3, 1},    {7, 5, 3},     {3, 67, 2},
                                {8, 48, 4}, {5, 4099, 2}, {2, 12288, 1}, {130, 16, 65}};

/* Sets both penalties in variation 0, and one penalty in variations 1 and 2. */
static void mix_set(dg_op *op, int variation)
{
    dg_mix_args *a = &op->u.mix;
    a->first = op_more[0];
    op_state.penalty[0] = variation == 1 ? 0 : 0.3 * a->first;
    op_state.penalty[1] = variation == 2 ? 0 : -1.7 * (a->N - a->first);
}

static op_bound mix_bound(const dg_op *want, const char *result, double eps)
{
    (void)result;
    return (op_bound){4 * eps, 4 * eps * (op_largest(want, "a") * op_largest(want, "s") + 1.7 * op_largest(want, "t"))};
}

static const op_row row_mix = {.variations = 3,
                               OP_SHAPES(mix_shapes),
                               .threads = {{9, 9001, 4}, {5, 301, 2}},
                               .set = mix_set,
                               .bound = mix_bound,
                               .same = {{"y", "a"}, {"y", "t"}}};

/* N, H, W, C */
static op_shape bias_dw_shapes[] = {{1, 1, 1, 1},  {2, 3, 5, 3},   {7, 4, 4, 32},   {3, 5, 3, 33},
                                    {4, 1, 1, 65}, {2, 9, 11, 64}, {130, 2, 2, 19}, {5, 33, 31, 7}};

static op_bound bias_dw_bound(const dg_op *want, const char *result, double eps)
{
    const dg_bias_dw_args *a = &want->u.bias_dw;
    const double each = op_largest(want, "g") * a->H * a->W;
    return (op_bound){4 * eps, 4 * eps * (strcmp(result, "each") == 0 ? each : each * op_largest(want, "s") * a->N)};
}

static const op_row row_bias_dw = {OP_SHAPES(bias_dw_shapes), .threads = {{9, 33, 31, 70}, {5, 9, 7, 35}},
                                   .bound = bias_dw_bound};

/* n, index of the first value of the second mean, step. Some steps exceed DG_RING. */
static op_shape penalty_shapes[] = {{2, 1, 0}, {5, 3, 700}, {64, 32, 1400}, {600, 299, 2100}};

static void penalty_set(dg_op *op, int variation)
{
    (void)variation;
    dg_penalty_args *a = &op->u.penalty;
    a->first = op_more[0];
    op_state.step = (uint64_t)op_more[1];
    a->r1 = 8, a->r2 = 9;
}

static op_bound penalty_bound(const dg_op *want, const char *result, double eps)
{
    (void)result, (void)eps;
    return (op_bound){0, want->u.penalty.n * DBL_EPSILON * op_largest(want, "x")};
}

static const op_row row_penalty = {OP_SHAPES(penalty_shapes), .threads = {{600, 7, 5}, {300, 7, 5}}, .set = penalty_set,
                                   .bound = penalty_bound};
