/* Rows of the op table for max and mean pooling: checks, error limits, cost. */
#include "core/plan/limits.h"
#include "kernels/ops/ops.h"

/* Maximum number of windows that contain a pixel. */
static double reach(const dg_pool_args *a)
{
    const int rows = (a->K + a->S - 1) / a->S, columns = (dg_pool_columns(a) + a->S - 1) / a->S;
    return (double)rows * columns;
}

static double sum_limit(const dg_op_values *v, const dg_check_operand *o, size_t i, double want)
{
    (void)want;
    const dg_pool_args *a = &v->op[0]->u.pool;
    const double terms = v->op[0]->kind == DG_OP_meanpool ? (double)a->K * dg_pool_columns(a) : reach(a);
    return (terms + 1) * v->eps * dg_check_value(o, o->weight, i);
}

static double flops(const dg_op *op)
{
    const dg_pool_args *a = &op->u.pool;
    return (double)a->N * a->Ho * a->Wo * a->C * a->K * dg_pool_columns(a);
}

static double mean_flops(const dg_op *op)
{
    const dg_pool_args *a = &op->u.pool;
    return flops(op) + (double)a->N * a->Ho * a->Wo * a->C;
}

static double dx_flops(const dg_op *op)
{
    const dg_pool_args *a = &op->u.pool;
    return 2.0 * a->N * a->H * a->W * a->C * reach(a);
}

static double mean_dx_flops(const dg_op *op)
{
    const dg_pool_args *a = &op->u.pool;
    return (double)a->N * a->H * a->W * a->C * (reach(a) + 1);
}

static const char *complete(dg_op *op)
{
    dg_pool_args *a = &op->u.pool;
    const bool places = op->kind == DG_OP_maxpool || op->kind == DG_OP_maxpool_dx;
    if (places && a->K > 16) return "K must be at most 16, because the index of a pixel in its window is a byte";
    const int columns = dg_pool_columns(a);
    if (places && a->columns) return "only means have windows that are not square";
    if (a->H > 65536 || a->W > 65536 || a->K > 65536 || columns > 65536) return "K and the image must be at most 65536";
    if (a->P >= a->K || a->P >= columns || a->H + 2 * a->P < a->K || a->W + 2 * a->P < columns)
        return "the window does not fit into the image";
    a->Ho = (a->H + 2 * a->P - a->K) / a->S + 1;
    a->Wo = (a->W + 2 * a->P - columns) / a->S + 1;
    return NULL;
}

#define PLACE(role) DG_OPERAND(pool, place, role, DG_BYTE, N, Ho, Wo, C)
#define SHAPE \
    DG_NHWC(pool), {"K", DG_FIELD(pool, K)}, {"S", DG_FIELD(pool, S)}, { "P", DG_FIELD(pool, P) }

const dg_op_info dg_info_maxpool = {
    .operand = {DG_OUTPUT(pool, y, N, Ho, Wo, C), PLACE(DG_OUT), DG_INPUT(pool, x, N, H, W, C)},
    .shape = {SHAPE},
    .complete = complete,
    .wide = DG_FIELDS(pool, C),
    .flops = flops,
    .variants = {&dg_direct, &dg_vector},
    .limits = dg_limits_relative,
};

const dg_op_info dg_info_maxpool_dx = {
    .operand = {DG_OUTPUT(pool, dx, N, H, W, C), DG_INPUT(pool, dy, N, Ho, Wo, C), PLACE(DG_IN)},
    .shape = {SHAPE},
    .complete = complete,
    .wide = DG_FIELDS(pool, C),
    .flops = dx_flops,
    .variants = {&dg_direct, &dg_vector},
    .limit = sum_limit,
    .weighed = true,
};

const dg_op_info dg_info_meanpool = {
    .operand = {DG_OUTPUT(pool, y, N, Ho, Wo, C), DG_INPUT(pool, x, N, H, W, C)},
    .shape = {SHAPE},
    .complete = complete,
    .wide = DG_FIELDS(pool, C),
    .flops = mean_flops,
    .variants = {&dg_direct, &dg_vector},
    .limit = sum_limit,
    .weighed = true,
};

const dg_op_info dg_info_meanpool_dx = {
    .operand = {DG_OUTPUT(pool, dx, N, H, W, C), DG_INPUT(pool, dy, N, Ho, Wo, C)},
    .shape = {SHAPE},
    .complete = complete,
    .wide = DG_FIELDS(pool, C),
    .flops = mean_dx_flops,
    .variants = {&dg_direct, &dg_vector},
    .limit = sum_limit,
    .weighed = true,
};
