/* Rows of the op table for differentiable augmentation: checks, error limits, cost. */
#include <float.h>
#include <math.h>

#include "core/plan/limits.h"
#include "kernels/ops/ops.h"

/* Augmented pixels are computed in double and rounded once. An augmented pixel is a sum of the image's pixels with
 * weights of at most 3. */
static dg_err limits_of(const dg_op_values *v, const char *in)
{
    const dg_augment_args *a = &v->op[0]->u.augment;
    const dg_check_operand *x = dg_values_find(v, in);
    double most = 1;
    for (size_t i = 0; i < x->count; i++) most = fmax(most, fabs(dg_check_value(x, x->before, i)));
    for (int k = 0; k < v->operands; k++) {
        const dg_check_operand *o = &v->operand[k];
        for (size_t i = 0; o->limit && i < o->count; i++)
            o->limit[i] = 2 * v->eps * fabs(dg_check_value(o, o->want, i)) + (a->H * a->W + 16) * DBL_EPSILON * most;
    }
    return DG_OK;
}

static dg_err limits(const dg_op_values *v) { return limits_of(v, "x"); }
static dg_err dx_limits(const dg_op_values *v) { return limits_of(v, "dy"); }

static const char *complete(dg_op *op)
{
    return op->u.augment.C > DG_CHANNELS_MAX ? "images have at most 4 channels" : NULL;
}

const dg_op_info dg_info_augment = {
    .operand = {DG_OUTPUT(augment, y, N, H, W, C), DG_INPUT(augment, x, N, H, W, C), DG_STEP_READ(augment)},
    .shape = {DG_NHWC(augment)},
    .complete = complete,
    .flops_each = 7,
    .variants = {&dg_direct},
    .limits = limits,
};

const dg_op_info dg_info_augment_dx = {
    .operand = {DG_OUTPUT(augment, dx, N, H, W, C), DG_INPUT(augment, dy, N, H, W, C), DG_STEP_READ(augment)},
    .shape = {DG_NHWC(augment)},
    .complete = complete,
    .flops_each = 7,
    .variants = {&dg_direct},
    .limits = dx_limits,
};
