/* Binary cross entropy: what is known of it without running it. */
#include "core/plan/limits.h"
#include "kernels/ops/ops.h"

static double flops(const dg_op *op) { return 12.0 * op->u.bce.n; }

const dg_op_info dg_info_bce = {
    .operand = {DG_OUTPUT(bce, dlogit, n), DG_METRICS_WRITTEN(bce), DG_INPUT(bce, logit, n), DG_STEP_READ(bce)},
    .shape = {{"n", DG_FIELD(bce, n)}},
    .flops = flops,
    .variants = {&dg_direct},
    .limits = dg_limits_relative,
    .roundings = 4, /* computed in double, rounded once */
};
