/* Max pooling: what is known of it without running it. */
#include "core/plan/limits.h"

/* Windows that reach a pixel, in each direction. */
static int reach(const dg_pool_args *a) { return (a->K + a->S - 1) / a->S; }

/* A sum of at most so many gradients. */
static dg_err dx_limits(const dg_op_values *v)
{
    const dg_check_operand *dx = dg_values_find(v, "dx");
    const double terms = (double)reach(&v->op[0]->u.pool) * reach(&v->op[0]->u.pool);
    for (size_t i = 0; i < dx->count; i++) dx->limit[i] = terms * v->eps * dg_check_value(dx, dx->weight, i);
    return DG_OK;
}

static double flops(const dg_op *op)
{
    const dg_pool_args *a = &op->u.pool;
    return (double)a->N * a->Ho * a->Wo * a->C * a->K * a->K;
}

/* A comparison and an addition for each window that reaches a pixel. */
static double dx_flops(const dg_op *op)
{
    const dg_pool_args *a = &op->u.pool;
    return 2.0 * a->N * a->H * a->W * a->C * reach(a) * reach(a);
}

static const char *complete(dg_op *op)
{
    dg_pool_args *a = &op->u.pool;
    if (a->H > 65536 || a->W > 65536 || a->K > 16) return "the kernel is at most 16, a picture 65536";
    if (a->P >= a->K || a->H + 2 * a->P < a->K || a->W + 2 * a->P < a->K)
        return "the kernel does not fit into the picture";
    a->Ho = (a->H + 2 * a->P - a->K) / a->S + 1;
    a->Wo = (a->W + 2 * a->P - a->K) / a->S + 1;
    return NULL;
}

#define PLACE(role) DG_OPERAND(pool, place, role, DG_BYTE, N, Ho, Wo, C)
#define SHAPE                                                                                                   \
    {                                                                                                           \
        {"N", DG_FIELD(pool, N)}, {"H", DG_FIELD(pool, H)}, {"W", DG_FIELD(pool, W)}, {"C", DG_FIELD(pool, C)}, \
            {"K", DG_FIELD(pool, K)}, {"S", DG_FIELD(pool, S)},                                                 \
        {                                                                                                       \
            "P", DG_FIELD(pool, P)                                                                              \
        }                                                                                                       \
    }

const dg_op_info dg_info_maxpool = {
    .operand = {DG_OUTPUT(pool, y, N, Ho, Wo, C), PLACE(DG_OUT), DG_INPUT(pool, x, N, H, W, C)},
    .shape = SHAPE,
    .complete = complete,
    .wide = DG_FIELDS(pool, C),
    .flops = flops,
    .variants = {&dg_direct, &dg_vector},
    .limits = dg_limits_relative,
};

const dg_op_info dg_info_maxpool_dx = {
    .operand = {DG_OUTPUT(pool, dx, N, H, W, C), DG_INPUT(pool, dy, N, Ho, Wo, C), PLACE(DG_IN)},
    .shape = SHAPE,
    .complete = complete,
    .wide = DG_FIELDS(pool, C),
    .flops = dx_flops,
    .variants = {&dg_direct, &dg_vector},
    .limits = dx_limits,
    .weighed = true,
};
