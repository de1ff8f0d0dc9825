/* Rows of the op table for gradient penalties: checks, error limits, cost. */
#include <float.h>
#include <math.h>

#include "core/plan/limits.h"
#include "core/plan/work.h"
#include "kernels/ops/ops.h"
#include "kernels/ops/values.h"

static double fill_flops(const dg_op *op)
{
    (void)op;
    return 0;
}

const dg_op_info dg_info_fill = {
    .operand = {DG_OUTPUT(fill, y, n)},
    .shape = {{"n", DG_FIELD(fill, n)}},
    .flops = fill_flops,
    .variants = {&dg_direct},
    .limits = dg_limits_relative,
};

static double mix_limit(const dg_op_values *v, const dg_check_operand *o, size_t i, double want)
{
    (void)o;
    const dg_mix_args *a = &v->op[0]->u.mix;
    const dg_step_state *state = dg_values_find(v, "state")->before;
    const size_t n = i / (size_t)a->each;
    const double s = fabs(dg_value_before(v, "s", n) * dg_value_before(v, "a", i)),
                 t = fabs(dg_mix_scale(a, state, (int)n >= a->first) * dg_value_before(v, "t", i));
    return 4 * v->eps * (want + s + t);
}

const dg_op_info dg_info_mix = {
    .operand = {DG_OUTPUT(mix, y, N, each), DG_INPUT(mix, s, N), DG_INPUT(mix, a, N, each), DG_INPUT(mix, t, N, each),
                DG_STEP_READ(mix)},
    .shape = {{"N", DG_FIELD(mix, N)}, {"each", DG_FIELD(mix, each)}},
    .flops_each = 3,
    .variants = {&dg_direct},
    .limit = mix_limit,
};

static double bias_flops(const dg_op *op)
{
    const dg_bias_dw_args *a = &op->u.bias_dw;
    return ((double)a->H * a->W + 2) * a->N * a->C;
}

/* The error limit of a sum is relative to the sum of its terms' magnitudes. */
static double bias_limit(const dg_op_values *v, const dg_check_operand *o, size_t i, double want)
{
    (void)want;
    return 8 * v->eps * dg_check_value(o, o->weight, i);
}

static void bias_work(const dg_op *op, dg_type real, dg_work *w)
{
    (void)op, (void)real;
    w->kernels = 2;
}

const dg_op_info dg_info_bias_dw = {
    .operand = {DG_OUTPUT(bias_dw, db, C), DG_OUTPUT(bias_dw, each, N, C), DG_INPUT(bias_dw, g, N, H, W, C),
                DG_INPUT(bias_dw, s, N)},
    .shape = {DG_NHWC(bias_dw)},
    .flops = bias_flops,
    .work = bias_work,
    .variants = {&dg_direct},
    .limit = bias_limit,
    .weighed = true,
};

static double penalty_flops(const dg_op *op) { return op->u.penalty.n; }

/* Penalties are summed in double, in equal order on all backends. */
static dg_err penalty_limits(const dg_op_values *v)
{
    double most = 0;
    for (int i = 0; i < v->op[0]->u.penalty.n; i++) most = fmax(most, fabs(dg_value_before(v, "x", (size_t)i)));
    for (int k = 0; k < v->operands; k++)
        for (size_t i = 0; v->operand[k].limit && i < v->operand[k].count; i++)
            v->operand[k].limit[i] = v->op[0]->u.penalty.n * DBL_EPSILON * most;
    return DG_OK;
}

const dg_op_info dg_info_penalty = {
    .operand = {DG_METRICS_WRITTEN(penalty), DG_INPUT(penalty, x, n), DG_STEP_READ(penalty)},
    .shape = {{"n", DG_FIELD(penalty, n)}},
    .flops = penalty_flops,
    .variants = {&dg_direct},
    .limits = penalty_limits,
};
