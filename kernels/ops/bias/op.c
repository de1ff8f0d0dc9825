/* Rows of the op table for a bias with an activation: checks, error limits, cost. */
#include <math.h>

#include "core/plan/limits.h"
#include "core/tune/norm_chunks.h"
#include "core/plan/work.h"
#include "kernels/ops/values.h"
#include "kernels/ops/ops.h"

static int64_t rows(const dg_bias_act_args *a) { return (int64_t)a->N * a->H * a->W; }

static double flops(const dg_op *op)
{
    const dg_bias_act_args *a = &op->u.bias_act;
    return (1.0 + dg_acts[a->act].flops) * (double)rows(a) * a->C;
}

static double dx_flops(const dg_op *op)
{
    const dg_bias_act_args *a = &op->u.bias_act;
    return (double)(dg_acts[a->act].dx_flops + dg_bias_sums(op)) * (double)rows(a) * a->C;
}

static double limit(const dg_op_values *v, const dg_check_operand *o, size_t i, double want)
{
    (void)o;
    const size_t c = i % (size_t)v->op[0]->u.bias_act.C;
    return v->eps * (16 * want + fabs(dg_value_before(v, "x", i)) + fabs(dg_value_before(v, "b", c)));
}

/* The error limit of the bias gradient db is relative to the sum of its terms' magnitudes. */
static double dx_limit(const dg_op_values *v, const dg_check_operand *o, size_t i, double want)
{
    return v->eps * (o == dg_values_find(v, "db") ? 16 * dg_check_value(o, o->weight, i) : 8 * want);
}

/* Each chunk of rows stores its sums in double. A single chunk needs no scratch memory, because it writes the
 * result. */
static size_t scratch(const dg_op *op, dg_type real)
{
    (void)real;
    const dg_bias_act_args *a = &op->u.bias_act;
    const int chunks = dg_norm_chunk_count(rows(a));
    return dg_bias_sums(op) && chunks > 1 ? (size_t)chunks * (size_t)a->C * sizeof(double) : 0;
}

static void work(const dg_op *op, dg_type real, dg_work *w)
{
    if (scratch(op, real)) w->kernels = 2;
}

const dg_op_info dg_info_bias_act = {
    .operand = {DG_OUTPUT(bias_act, y, N, H, W, C), DG_INPUT(bias_act, x, N, H, W, C), DG_INPUT(bias_act, b, C)},
    .shape = {DG_NHWC(bias_act)},
    .wide = DG_FIELDS(bias_act, C),
    .flops = flops,
    .variants = {&dg_direct, &dg_vector},
    .limit = limit,
};

const dg_op_info dg_info_bias_act_dx = {
    .operand = {DG_OUTPUT(bias_act, dx, N, H, W, C), DG_OUTPUT(bias_act, db, C), DG_INPUT(bias_act, dy, N, H, W, C),
                DG_INPUT(bias_act, y, N, H, W, C), DG_WORKSPACE(bias_act)},
    .shape = {DG_NHWC(bias_act)},
    .wide = DG_FIELDS(bias_act, C),
    .flops = dx_flops,
    .scratch = scratch,
    .work = work,
    .variants = {&dg_direct, &dg_vector},
    .limit = dx_limit,
    .weighed = true,
};
