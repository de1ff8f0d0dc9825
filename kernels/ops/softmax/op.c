/* Row of the op table for softmax with cross entropy: checks, error limits, cost. */
#include <float.h>
#include <string.h>

#include "core/plan/limits.h"
#include "kernels/ops/ops.h"

/* Softmax is computed in double and rounded once. The error limit covers a sum of C exponentials. Rounding of their
 * arguments, at least -745, adds to their errors. A gradient is p - q, where p and q are at most 1. */
static double limit(const dg_op_values *v, const dg_check_operand *o, size_t i, double want)
{
    (void)i;
    const dg_softmax_args *a = &v->op[0]->u.softmax;
    const double of_sum = (a->C + 800) * (DBL_EPSILON / 2);
    return 4 * v->eps * want + of_sum * (strcmp(o->name, "dlogit") == 0 ? 2.0 / a->N : want);
}

/* The last block adds the losses of all rows, which are in scratch memory. */
static size_t scratch(const dg_op *op, dg_type real)
{
    (void)real;
    return (size_t)op->u.softmax.N * sizeof(double);
}

const dg_op_info dg_info_softmax = {
    .operand = {DG_OUTPUT(softmax, dlogit, N, C), DG_OUTPUT(softmax, p, N, C), DG_OUTPUT(softmax, each, N),
                DG_METRICS_WRITTEN(softmax), DG_INPUT(softmax, logit, N, C),
                DG_OPERAND(softmax, label, DG_IN, DG_INDEX, N), DG_STEP_READ(softmax), DG_COUNTED(softmax),
                DG_WORKSPACE(softmax)},
    .shape = {{"N", DG_FIELD(softmax, N)}, {"C", DG_FIELD(softmax, C)}},
    .flops_each = 7,
    .scratch = scratch,
    .variants = {&dg_direct},
    .limit = limit,
};
