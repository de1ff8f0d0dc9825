/* Row of the op table for running averages. */
#include <math.h>

#include "core/plan/limits.h"
#include "kernels/ops/ops.h"

static double limit(const dg_op_values *v, const dg_check_operand *o, size_t i, double want)
{
    return 4 * v->eps * (want + fabs(dg_value_before(v, o->name, i)) + fabs(dg_value_before(v, "p", i)));
}

const dg_op_info dg_info_ema = {
    .operand = {DG_UPDATED(ema, average, n), DG_INPUT(ema, p, n), DG_STEP_READ(ema)},
    .shape = {{"n", DG_FIELD(ema, n)}},
    .wide = DG_FIELDS(ema, n),
    .flops_each = 3,
    .variants = {&dg_direct, &dg_vector},
    .limit = limit,
};
