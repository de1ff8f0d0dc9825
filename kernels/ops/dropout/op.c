/* Row of the op table for dropout: checks, error limits, cost. */
#include "core/plan/limits.h"
#include "kernels/ops/ops.h"

const dg_op_info dg_info_dropout = {
    .operand = {DG_OUTPUT(dropout, y, n), DG_INPUT(dropout, x, n), DG_STEP_READ(dropout)},
    .shape = {{"n", DG_FIELD(dropout, n)}},
    .wide = DG_FIELDS(dropout, n),
    .flops_each = 2,
    .variants = {&dg_direct, &dg_vector},
    .limits = dg_limits_relative, /* one product: equal bits */
};
