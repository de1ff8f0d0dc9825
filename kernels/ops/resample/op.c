/* Rows of the op table for resampling: checks, error limits, cost. */
#include "core/plan/limits.h"
#include "kernels/ops/ops.h"

enum { UP_TERMS = 4, DOWN_TERMS = 16 };

static double limit(const dg_op_values *v, const dg_check_operand *o, size_t i, double want)
{
    (void)want;
    const int terms = v->op[0]->kind == DG_OP_resample_up ? UP_TERMS : DOWN_TERMS;
    return (2 * terms + 1) * v->eps * dg_check_value(o, o->weight, i);
}

static double flops(const dg_op *op)
{
    const dg_resample_args *a = &op->u.resample;
    const double small = (double)a->N * a->H * a->W * a->C;
    return op->kind == DG_OP_resample_up ? 4 * small * (2 * UP_TERMS + 1) : small * (2 * DOWN_TERMS + 1);
}

static const char *complete(dg_op *op)
{
    dg_resample_args *a = &op->u.resample;
    if (a->H > 32768 || a->W > 32768) return "the smaller image must be at most 32768";
    a->H2 = 2 * a->H;
    a->W2 = 2 * a->W;
    return NULL;
}

#define RESAMPLE(out, in)                                                                                         \
    {                                                                                                             \
        .operand = {out, in}, .shape = {DG_NHWC(resample)}, .complete = complete, .wide = DG_FIELDS(resample, C), \
        .flops = flops, .variants = {&dg_direct, &dg_vector}, .limit = limit, .weighed = true                     \
    }

const dg_op_info dg_info_resample_up = RESAMPLE(DG_OUTPUT(resample, y, N, H2, W2, C),
                                                DG_INPUT(resample, x, N, H, W, C));
const dg_op_info dg_info_resample_down = RESAMPLE(DG_OUTPUT(resample, y, N, H, W, C),
                                                  DG_INPUT(resample, x, N, H2, W2, C));
