/* Activations, act and act_dx: what is known of them without running them. */
#include "core/plan/limits.h"

/* Two libraries' tanh are 16 roundings apart at most. */
static double act_limit(const dg_op_values *v, const dg_check_operand *o, size_t i, double want)
{
    (void)o, (void)i;
    return 16 * v->eps * want;
}

static double dx_limit(const dg_op_values *v, const dg_check_operand *o, size_t i, double want)
{
    (void)o, (void)i;
    return 8 * v->eps * want;
}

static dg_err act_limits(const dg_op_values *v) { return dg_limits_each(v, act_limit); }
static dg_err dx_limits(const dg_op_values *v) { return dg_limits_each(v, dx_limit); }

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
    .limits = act_limits,
};

const dg_op_info dg_info_act_dx = {
    .operand = {DG_OUTPUT(act, dx, n), DG_INPUT(act, dy, n), DG_INPUT(act, y, n)},
    .shape = {{"n", DG_FIELD(act, n)}},
    .wide = DG_FIELDS(act, n),
    .flops = dx_flops,
    .variants = {&dg_direct, &dg_vector},
    .limits = dx_limits,
};
