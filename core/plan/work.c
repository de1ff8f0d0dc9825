/* Counts the work of launches by the functions dg_op_info.work and dg_variant.work. */
#include "core/plan/work.h"

dg_work dg_work_of(const dg_op *op, dg_type real)
{
    dg_work w = {.kernels = 1,
                 .threads = op->tune.block ? op->tune.block : 256,
                 .split = op->tune.split > 1 ? op->tune.split : 1};
    const dg_op_info *info = dg_op_info_of(op->kind);
    const dg_variant *v = op->tune.variant;
    if (v && v->work) v->work(op, &w);
    if (info->work) info->work(op, real, &w);
    return w;
}

size_t dg_scratch_of(const dg_op *op, dg_type real)
{
    const dg_op_info *info = dg_op_info_of(op->kind);
    const dg_variant *v = op->tune.variant;
    if (v && v->scratch) return v->scratch(op, real);
    return info->scratch ? info->scratch(op, real) : 0;
}
