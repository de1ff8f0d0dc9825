/* Rows of the op table for act, act_dx and add: checks, error limits, cost. */
#include <math.h>

#include "core/plan/limits.h"
#include "kernels/ops/ops.h"

static double act_flops(const dg_op *op) { return dg_acts[op->u.act.act].flops * (double)op->u.act.n; }

static double dx_flops(const dg_op *op) { return dg_acts[op->u.act.act].dx_flops * (double)op->u.act.n; }

static double add_flops(const dg_op *op) { return (1 + dg_acts[op->u.add.act].flops) * (double)op->u.add.n; }

static double add_limit(const dg_op_values *v, const dg_check_operand *o, size_t i, double want)
{
    (void)o;
    return v->eps * (16 * want + fabs(dg_value_before(v, "a", i)) + fabs(dg_value_before(v, "b", i)));
}

const dg_op_info dg_info_act = {
    .operand = {DG_OUTPUT(act, y, n), DG_INPUT(act, x, n)},
    .shape = {{"n", DG_FIELD(act, n)}},
    .wide = DG_FIELDS(act, n),
    .flops = act_flops,
    .variants = {&dg_direct, &dg_vector},
    .limits = dg_limits_relative,
    .roundings = 16,
};

const dg_op_info dg_info_act_dx = {
    .operand = {DG_OUTPUT(act, dx, n), DG_INPUT(act, dy, n), DG_INPUT(act, y, n)},
    .shape = {{"n", DG_FIELD(act, n)}},
    .wide = DG_FIELDS(act, n),
    .flops = dx_flops,
    .variants = {&dg_direct, &dg_vector},
    .limits = dg_limits_relative,
    .roundings = 8,
};

const dg_op_info dg_info_add = {
    .operand = {DG_OUTPUT(add, y, n), DG_INPUT(add, a, n), DG_INPUT(add, b, n)},
    .shape = {{"n", DG_FIELD(add, n)}},
    .wide = DG_FIELDS(add, n),
    .flops = add_flops,
    .variants = {&dg_direct, &dg_vector},
    .limit = add_limit,
};
