/* Binary cross entropy: what is known of it without running it. */
#include "core/plan/limits.h"

/* Computed in double, rounded once. */
static double limit(const dg_op_values *v, const dg_check_operand *o, size_t i, double want)
{
    (void)o, (void)i;
    return 4 * v->eps * want;
}

static dg_err limits(const dg_op_values *v) { return dg_limits_each(v, limit); }

static double flops(const dg_op *op) { return 12.0 * op->u.bce.n; }

const dg_op_info dg_info_bce = {
    .operand = {DG_OUTPUT(bce, dlogit, n), DG_METRICS_WRITTEN(bce), DG_INPUT(bce, logit, n), DG_STEP_READ(bce)},
    .shape = {{"n", DG_FIELD(bce, n)}},
    .flops = flops,
    .variants = {&dg_direct},
    .limits = limits,
};
