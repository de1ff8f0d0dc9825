/* Rows of the op table for the GAN losses: checks, error limits, cost. */
#include <float.h>
#include <math.h>

#include "core/plan/limits.h"
#include "kernels/ops/ops.h"

static double largest(const dg_op_values *v, const char *name, int n)
{
    const size_t at = (size_t)v->op[0]->operand[dg_operand_index(DG_OP_gan_loss, name)].offset;
    double most = 0;
    for (size_t i = 0; i < (size_t)n; i++) most = fmax(most, fabs(dg_value_before(v, name, at + i)));
    return most;
}

/* Losses are computed in double and rounded once. Losses other than cross entropy use differences of logits, whose
 * error is relative to the logits' magnitude. */
static dg_err limits(const dg_op_values *v)
{
    const dg_gan_loss_args *a = &v->op[0]->u.gan_loss;
    if (a->form == DG_GAN_CROSS) return dg_limits_relative(v);
    const double size = largest(v, "logit", a->n) + (a->other ? largest(v, "other", a->n) : 0) + 1,
                 lost = (a->n + 16) * DBL_EPSILON * size;
    for (int k = 0; k < v->operands; k++) {
        const dg_check_operand *o = &v->operand[k];
        for (size_t i = 0; o->limit && i < o->count; i++) {
            const double want = fabs(dg_check_value(o, o->want, i));
            o->limit[i] = o->row[0]->kind == DG_STATE ? 1e-12 * want + lost * size : 4 * v->eps * want + lost / a->n;
        }
    }
    return DG_OK;
}

static double flops(const dg_op *op)
{
#define X(NAME, flops) [DG_GAN_##NAME] = flops,
    static const double each[DG_GAN_FORM_KINDS] = {DG_GAN_FORMS(X)};
#undef X
    return each[op->u.gan_loss.form] * op->u.gan_loss.n;
}

const dg_op_info dg_info_gan_loss = {
    .operand = {DG_OUTPUT(gan_loss, dlogit, n), DG_METRICS_WRITTEN(gan_loss), DG_INPUT(gan_loss, logit, n),
                DG_INPUT(gan_loss, other, n), DG_STEP_READ(gan_loss)},
    .shape = {{"n", DG_FIELD(gan_loss, n)}},
    .flops = flops,
    .variants = {&dg_direct},
    .limits = limits,
    .roundings = 4,
};
