/* Row of the op table for noise: checks, error limits, cost. */
#include "core/plan/limits.h"
#include "kernels/ops/ops.h"

/* Libraries compute different logarithms, sines and cosines. For every precision, the limit is that of float. */
static double limit(const dg_op_values *v, const dg_check_operand *o, size_t i, double want)
{
    (void)v, (void)o, (void)i;
    return 16 * 0x1p-24 * (want + 0.01);
}

static dg_err limits(const dg_op_values *v) { return dg_limits_each(v, limit); }

static double flops(const dg_op *op) { return 7.0 * (double)op->u.noise.n; }

const dg_op_info dg_info_noise = {
    .operand = {DG_OUTPUT(noise, z, n), DG_STEP_READ(noise)},
    .shape = {{"n", DG_FIELD(noise, n)}},
    .flops = flops,
    .variants = {&dg_direct},
    .limits = limits,
};
