/* Rows of the op table for grouped convolution (forward, data gradient, weight gradient). */
#include <math.h>

#include "core/plan/limits.h"
#include "kernels/ops/ops.h"

static double terms(const dg_op *op)
{
    const dg_group_args *a = &op->u.group;
    if (op->kind == DG_OP_group_fwd) return (double)a->K * a->K * a->Cg;
    if (op->kind == DG_OP_group_dx) return (double)a->K * a->K * a->Co / a->groups;
    return (double)a->N * a->Ho * a->Wo;
}

/* Error limits are relative to the sum of the terms' magnitudes, as for other convolutions. */
static double limit(const dg_op_values *v, const dg_check_operand *o, size_t i, double want)
{
    (void)want;
    return sqrt(terms(v->op[0])) * v->eps * 8 * dg_check_value(o, o->weight, i);
}

static double flops(const dg_op *op)
{
    const dg_group_args *a = &op->u.group;
    return 2.0 * a->N * a->Ho * a->Wo * a->Co * a->K * a->K * a->Cg;
}

static const char *complete(dg_op *op)
{
    dg_group_args *a = &op->u.group;
    if (a->groups < 1 || a->Ci % a->groups || a->Co % a->groups) return "the channels must be multiples of the groups";
    if (a->H > 65536 || a->W > 65536 || a->K > 1024 || a->P >= a->K || a->H + 2 * a->P < a->K || a->W + 2 * a->P < a->K)
        return "the kernel does not fit into the image";
    a->Ho = a->H + 2 * a->P - a->K + 1;
    a->Wo = a->W + 2 * a->P - a->K + 1;
    a->Cg = a->Ci / a->groups;
    return NULL;
}

/* Only CPUs use scratch memory (kernels/ops/group/group.c). */
static size_t no_scratch(const dg_op *op, dg_type real)
{
    (void)op, (void)real;
    return 0;
}

#define X_OF(role) DG_OPERAND(group, x, role, DG_REAL, N, H, W, Ci)
#define Y_OF(role) DG_OPERAND(group, y, role, DG_REAL, N, Ho, Wo, Co)
#define W_OF(role) DG_OPERAND(group, w, role, DG_REAL, Co, K, K, Cg)
#define ROW(first, second, third)                                                                              \
    {                                                                                                          \
        .operand = {first, second, third, DG_WORKSPACE(group)},                                                \
        .shape = {{"N", DG_FIELD(group, N)},  {"H", DG_FIELD(group, H)},          {"W", DG_FIELD(group, W)},   \
                  {"C", DG_FIELD(group, Ci)}, {">", DG_FIELD(group, Co)},         {"K", DG_FIELD(group, K)},   \
                  {"P", DG_FIELD(group, P)},  {"groups", DG_FIELD(group, groups)}},                            \
        .complete = complete, .flops = flops, .scratch = no_scratch, .variants = {&dg_direct}, .limit = limit, \
        .weighed = true                                                                                        \
    }

const dg_op_info dg_info_group_fwd = ROW(Y_OF(DG_OUT), X_OF(DG_IN), W_OF(DG_IN));
const dg_op_info dg_info_group_dx = ROW(X_OF(DG_OUT), Y_OF(DG_IN), W_OF(DG_IN));
const dg_op_info dg_info_group_dw = ROW(W_OF(DG_OUT), X_OF(DG_IN), Y_OF(DG_IN));
