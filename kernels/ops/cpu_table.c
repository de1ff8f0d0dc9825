/* The kernels of one instruction set and one type of real, as the backend finds them. */
#include "kernels/cpu/cpu.h"

static size_t scratch(const dg_op *op)
{
    switch (op->kind) {
    case DG_OP_conv_fwd:
    case DG_OP_conv_dx:
    case DG_OP_conv_dw: return DG_CPU(dg_cpu_conv_scratch)(op->kind, &op->u.conv, &op->tune);
    case DG_OP_norm_stats: {
        const dg_norm_stats_args *a = &op->u.norm_stats;
        return DG_CPU(dg_cpu_norm_scratch)(op->kind, a->N, a->H, a->W, a->C, a->groups);
    }
    case DG_OP_norm_act_dx: {
        const dg_norm_act_args *a = &op->u.norm_act;
        return DG_CPU(dg_cpu_norm_scratch)(op->kind, a->N, a->H, a->W, a->C, a->groups);
    }
    default: return 0;
    }
}

extern const dg_cpu_table DG_CPU(dg_cpu_kernels);
const dg_cpu_table DG_CPU(dg_cpu_kernels) = {
#define X(kind, member) .kind = DG_CPU(dg_cpu_##kind),
    DG_OPS(X)
#undef X
        .scratch = scratch,
    .conv_variant = DG_CPU(dg_cpu_conv_variant),
    .fma = DG_CPU(dg_cpu_fma),
    .triad = DG_CPU(dg_cpu_triad),
    .read = DG_CPU(dg_cpu_read),
};
