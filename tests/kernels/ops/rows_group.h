/* Test cases for grouped convolution. */
#include "op_rows.h"

/* N, H, W, Ci, Co, K, P, groups. Some groups do not have 16 channels, and some maps are smaller than the kernel. */
static op_shape group_shapes[] = {
    {1, 1, 1, 2, 2, 1, 0, 2},    {2, 4, 5, 32, 32, 3, 1, 2}, {3, 2, 1, 4, 8, 3, 1, 4},   {1, 7, 6, 48, 48, 3, 1, 3},
    {9, 3, 3, 6, 4, 3, 2, 2},    {2, 5, 4, 40, 24, 1, 0, 2}, {1, 6, 7, 10, 15, 5, 2, 5}, {2, 5, 5, 34, 38, 4, 1, 2},
    {11, 4, 4, 16, 16, 3, 1, 1}, {1, 9, 3, 3, 3, 3, 1, 3},
};

static op_bound group_bound(const dg_op *want, const char *result, double eps)
{
    const dg_group_args *a = &want->u.group;
    const double terms = *result == 'w' ? (double)a->N * a->Ho * a->Wo : a->K * a->K * (a->Co / a->groups + a->Cg);
    const char *const in[2] = {*result == 'x' ? "y" : "x", *result == 'w' ? "y" : "w"};
    return (op_bound){8 * eps, 4 * eps * terms * op_largest(want, in[0]) * op_largest(want, in[1])};
}

#define ROW_GROUP \
    OP_SHAPES(group_shapes), .threads = {{19, 9, 7, 64, 64, 3, 1, 4}, {9, 3, 4, 8, 8, 3, 1, 2}}, .bound = group_bound
static const op_row row_group_fwd = {ROW_GROUP}, row_group_dx = {ROW_GROUP}, row_group_dw = {ROW_GROUP};
