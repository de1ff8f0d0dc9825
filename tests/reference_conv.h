/* Computes convolutions, as core/plan/ops.h defines them, by simple loops in double. */
#pragma once

#include "core/plan/ops.h"

/* Returns a convolution without operands, and computes its Ho and Wo. */
dg_conv_args dg_ref_conv_shape(int N, int H, int W, int Ci, int Co, int K, int S, int P);

/* Runs conv_fwd, conv_dx or conv_dw on arrays of double. Input channels are divided into `groups`, as in dg_group_args.
 * For tolerances, `mass` receives the sum of |a||b| over the terms of each result, and `terms` the number of terms.
 * mass and terms may be NULL. */
void dg_ref_conv(dg_op_kind kind, const dg_conv_args *a, int groups, double *mass, int *terms);
