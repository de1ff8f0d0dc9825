/* Table of the CPU kernels, compiled once per instruction set and type of real. */
#include "kernels/cpu/cpu.h"

size_t DG_CPU(dg_cpu_scratch_plain)(const dg_op *op)
{
    (void)op;
    return 0;
}

extern const dg_cpu_table DG_CPU(dg_cpu_kernels);
const dg_cpu_table DG_CPU(dg_cpu_kernels) = {
#define X(kind, member, cpu) .kind = DG_CPU(dg_cpu_##kind), .scratch[DG_OP_##kind] = DG_CPU(dg_cpu_scratch_##cpu),
    DG_OPS(X)
#undef X
        .choose_conv = DG_CPU(dg_cpu_choose_conv),
    .fma = DG_CPU(dg_cpu_fma),
    .triad = DG_CPU(dg_cpu_triad),
    .read = DG_CPU(dg_cpu_read),
};
