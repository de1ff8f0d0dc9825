/* Test cases for resampling by 2. */
#include "op_rows.h"

/* N, H, W, C, with maps of one pixel, and with C near a vector's length and near 64. */
static op_shape resample_shapes[] = {{1, 1, 1, 1},  {2, 1, 3, 3},   {3, 4, 1, 5},  {1, 2, 2, 16}, {2, 5, 7, 17},
                                     {1, 4, 4, 64}, {2, 3, 5, 65},  {1, 7, 3, 4},  {5, 2, 3, 20}, {1, 3, 2, 130},
                                     {1, 9, 8, 3},  {2, 6, 11, 12}, {1, 1, 5, 68}, {1, 2, 1, 200}};

static void resample_set(dg_op *op, int variation) { op->u.resample.adjoint = variation; }

/* The filter weights of a result add up to at most 4. */
static op_bound resample_bound(const dg_op *want, const char *result, double eps)
{
    (void)result;
    return (op_bound){16 * eps, 64 * eps * op_largest(want, "x")};
}

/* Checks that <up(x), v> = <x, down_adjoint(v)> and <down(x), v> = <x, up_adjoint(v)>. */
static void check_adjoint(dg_backend *b)
{
    for (int k = 0; k < 2; k++) {
        dg_op op = {.kind = k ? DG_OP_resample_down : DG_OP_resample_up,
                    .u.resample = {.N = 2, .H = 3, .W = 5, .C = 9}};
        DG_CHECK(!dg_op_info_of(op.kind)->complete(&op));
        op_add_operands(&op);
        dg_op back = {.kind = k ? DG_OP_resample_up : DG_OP_resample_down, .u.resample = op.u.resample};
        back.u.resample.adjoint = true;
        back.u.resample.x = back.u.resample.y = NULL;
        op_add_operands(&back);
        const double *x = op_values(&op, "x"), *v = op_values(&back, "x");
        double left = 0, right = 0;
        if (!op_run(b, &op) || !op_run(b, &back)) return;
        for (size_t i = 0; i < op_count(&op, "y"); i++) left += op_values(&op, "y")[i] * v[i];
        for (size_t i = 0; i < op_count(&op, "x"); i++) right += op_values(&back, "y")[i] * x[i];
        DG_CHECKF(fabs(left - right) <= 1000 * dg_case_eps(b) && fabs(left) > 1e-3, "%s: %.12g, adjoint %.12g",
                  op_text(b, &op, 0), left, right);
    }
}

#define ROW_RESAMPLE                                                                                               \
    .variations = 2, OP_SHAPES(resample_shapes), .threads = {{3, 23, 21, 68}, {3, 5, 6, 20}}, .set = resample_set, \
    .bound = resample_bound

static const op_row row_resample_up = {ROW_RESAMPLE, .more = check_adjoint};
static const op_row row_resample_down = {ROW_RESAMPLE};
