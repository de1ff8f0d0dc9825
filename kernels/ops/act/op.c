/* Activations, act and act_dx: what is known of them without running them. */
#include "core/plan/limits.h"

static double act_flops(const dg_op *op) { return op->u.act.act == DG_ACT_NONE ? 0 : (double)op->u.act.n; }

static double dx_flops(const dg_op *op)
{
    return (op->u.act.act == DG_ACT_NONE ? 0 : op->u.act.act == DG_ACT_TANH ? 3 : 1) * (double)op->u.act.n;
}

const dg_op_info dg_info_act = {
    .operand = {DG_OUTPUT(act, y, n), DG_INPUT(act, x, n)},
    .shape = {{"n", DG_FIELD(act, n)}},
    .wide = DG_FIELDS(act, n),
    .flops = act_flops,
    .variants = {&dg_direct, &dg_vector},
    .limits = dg_limits_relative,
    .roundings = 16, /* tanh of two libraries */
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
