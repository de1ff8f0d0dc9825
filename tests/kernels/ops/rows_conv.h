/* Test cases for convolutions with the variant that a backend selects. tests/kernels/cpu/test_conv.c,
 * cuda/test_variants.cu and test_conv_mma.cu test variants, tiles and many more shapes. */
#include "op_rows.h"

/* N, H, W, Ci, Co, K, S, P */
static op_shape conv_shapes[] = {
    {1, 1, 1, 1, 1, 1, 1, 0},  {2, 5, 7, 3, 5, 4, 2, 1}, {3, 6, 5, 2, 3, 3, 3, 1},   {2, 7, 8, 8, 4, 5, 2, 2},
    {3, 4, 4, 4, 20, 4, 1, 0}, {9, 4, 4, 8, 1, 4, 1, 0}, {2, 7, 9, 17, 24, 3, 1, 1}, {8, 1, 1, 40, 7, 1, 1, 0},
};

/* Sets operands to multiples of 1/128, which are exact in bf16, so that all precisions have equal results. */
static void conv_set(dg_op *op, int variation)
{
    (void)variation;
    for (int i = 1; i < 3; i++) {
        double *x = *dg_ref_pointer(op, i);
        for (int64_t k = 0; k < dg_operand_count(op, i); k++) x[k] = rint(x[k] * 127) / 128;
    }
}

/* Returns the tolerance for sums of products of numbers in (-1, 1), also with Winograd's algorithm. */
static op_bound conv_bound(const dg_op *want, const char *result, double eps)
{
    (void)result;
    const dg_conv_args *a = &want->u.conv;
    const double terms = want->kind == DG_OP_conv_fwd  ? (double)a->K * a->K * a->Ci
                         : want->kind == DG_OP_conv_dx ? (double)a->K * a->K * a->Co
                                                       : (double)a->N * a->Ho * a->Wo;
    return (op_bound){0, 8 * sqrt(terms) * eps * terms};
}

/* NaN is untested, because Winograd's algorithm spreads NaN to neighbouring results. */
#define CONV_ROW                                                                                                       \
    {                                                                                                                  \
        OP_SHAPES(conv_shapes), .threads = {{4, 16, 16, 24, 48, 4, 2, 1}, {2, 8, 8, 8, 12, 4, 2, 1}}, .set = conv_set, \
                                .bound = conv_bound, .nan_untested = "all"                                             \
    }
static const op_row row_conv_fwd = CONV_ROW, row_conv_dx = CONV_ROW, row_conv_dw = CONV_ROW;
