/* Rows of the op table for classes of conditional GANs: checks, error limits, cost. */
#include <math.h>

#include "core/plan/limits.h"
#include "kernels/ops/ops.h"

static double no_flops(const dg_op *op)
{
    (void)op;
    return 0;
}

const dg_op_info dg_info_onehot = {
    .operand = {DG_OUTPUT(onehot, y, N, width), DG_INPUT(onehot, z, N, latent),
                DG_OPERAND(onehot, label, DG_IN, DG_INDEX, N)},
    .shape = {{"N", DG_FIELD(onehot, N)}, {"width", DG_FIELD(onehot, width)}, {"latent", DG_FIELD(onehot, latent)}},
    .flops = no_flops,
    .variants = {&dg_direct},
    .limits = dg_limits_relative,
};

/* A product and a sum of two logits, each rounded. The logit of the class is at most `most`. */
static double pick_limit(const dg_op_values *v, const dg_check_operand *o, size_t i, double want)
{
    (void)o;
    const dg_pick_args *a = &v->op[0]->u.pick;
    double most = 0;
    for (size_t k = 0; k < (size_t)a->width; k++)
        most = fmax(most, fabs(dg_value_before(v, "x", i * (size_t)a->width + k)));
    return 2 * v->eps * (want + 2 * most);
}

#define LABELS DG_OPERAND(pick, label, DG_IN, DG_INDEX, labels), DG_STEP_READ(pick)
#define SHAPE                                                                                            \
    {                                                                                                    \
        {"N", DG_FIELD(pick, N)}, {"width", DG_FIELD(pick, width)}, { "labels", DG_FIELD(pick, labels) } \
    }

const dg_op_info dg_info_pick = {
    .operand = {DG_OUTPUT(pick, y, N), DG_INPUT(pick, x, N, width), LABELS},
    .shape = SHAPE,
    .flops_each = 2,
    .variants = {&dg_direct},
    .limit = pick_limit,
};

const dg_op_info dg_info_pick_dx = {
    .operand = {DG_OUTPUT(pick, dx, N, width), DG_INPUT(pick, dy, N), LABELS},
    .shape = SHAPE,
    .flops_each = 1,
    .variants = {&dg_direct},
    .limits = dg_limits_relative,
    .roundings = 2, /* of k, and of the product */
};
