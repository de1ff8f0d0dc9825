/* Row of the op table for Adam. Operands p, m, v and g have one element for each of the n weights of a network. */
#include <math.h>
#include <string.h>

#include "core/plan/limits.h"
#include "kernels/ops/ops.h"

/* For any gradient, Adam's step is at most about lr. */
static double limit(const dg_op_values *v, const dg_check_operand *o, size_t i, double want)
{
    if (!strcmp(o->name, "m"))
        return 4 * v->eps * (fabs(dg_value_before(v, "m", i)) + fabs(dg_value_before(v, "g", i)));
    if (!strcmp(o->name, "v")) return 8 * v->eps * want;
    const double moved = fabs(dg_value_after(v, "p", i) - dg_value_before(v, "p", i));
    const dg_step_state *state = dg_values_find(v, "state")->before;
    return v->eps * (4 * want + 32 * moved + 64 * state->lr[v->op[0]->u.adam.net]);
}

const dg_op_info dg_info_adam = {
    .operand = {DG_UPDATED(adam, p, n), DG_UPDATED(adam, m, n), DG_UPDATED(adam, v, n), DG_METRICS_WRITTEN(adam),
                DG_INPUT(adam, g, n), DG_STEP_READ(adam), DG_COUNTED(adam)},
    .shape = {{"n", DG_FIELD(adam, n)}},
    .wide = DG_FIELDS(adam, n),
    .flops_each = 14,
    .variants = {&dg_direct, &dg_vector},
    .limit = limit,
};
