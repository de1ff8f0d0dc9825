/* Convolution on the CPU: the three directions and the choice between their variants. */
#include "conv_parts.h"

size_t DG_CPU(dg_cpu_conv_scratch)(dg_op_kind kind, const dg_conv_args *a, const dg_tune *tune)
{
    (void)tune;
    return kind == DG_OP_conv_dw ? DG_CPU(dg_conv_dw_scratch)(a) : DG_CPU(dg_conv_direct_scratch)(kind == DG_OP_conv_dx, a);
}

void DG_CPU(dg_cpu_conv_fwd)(const dg_conv_args *a, const dg_tune *tune)
{
    (void)tune;
    DG_CPU(dg_conv_direct)(false, a);
}

void DG_CPU(dg_cpu_conv_dx)(const dg_conv_args *a, const dg_tune *tune)
{
    (void)tune;
    DG_CPU(dg_conv_direct)(true, a);
}

void DG_CPU(dg_cpu_conv_dw)(const dg_conv_args *a, const dg_tune *tune)
{
    (void)tune;
    DG_CPU(dg_conv_dw_direct)(a);
}
