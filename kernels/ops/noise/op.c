/* Row of the op table for noise: checks, error limits, cost. */
#include "core/plan/limits.h"
#include "kernels/ops/ops.h"

/* Libraries compute different logarithms, sines and cosines. For every precision, the limit is that of float. */
static double limit(const dg_op_values *v, const dg_check_operand *o, size_t i, double want)
{
    (void)v, (void)o, (void)i;
    return 16 * 0x1p-24 * (want + 0.01);
}

const dg_op_info dg_info_noise = {
    .operand = {DG_OUTPUT(noise, z, n), DG_STEP_READ(noise)},
    .shape = {{"n", DG_FIELD(noise, n)}},
    .flops_each = 7,
    .variants = {&dg_direct},
    .limit = limit,
};
