/* Convolution on the CPU: the three directions and the choice between their variants. */
#include "conv_parts.h"

#include <string.h>

const char *DG_CPU(dg_cpu_conv_variant)(dg_op_kind kind, const dg_conv_args *a, const char *asked)
{
    bool can = a->K == 2 * a->S;
    if (asked) {
        if (!strcmp(asked, "direct")) return "direct";
        return !strcmp(asked, "winograd") && can ? "winograd" : NULL;
    }
    (void)kind;
    return "direct";
}

static bool winograd(const dg_tune *tune) { return tune && tune->variant && !strcmp(tune->variant, "winograd"); }

size_t DG_CPU(dg_cpu_conv_scratch)(dg_op_kind kind, const dg_conv_args *a, const dg_tune *tune)
{
    if (winograd(tune))
        return kind == DG_OP_conv_dw ? DG_CPU(dg_conv_winograd_dw_scratch)(a)
                                     : DG_CPU(dg_conv_winograd_scratch)(kind == DG_OP_conv_dx, a);
    return kind == DG_OP_conv_dw ? DG_CPU(dg_conv_dw_scratch)(a) : DG_CPU(dg_conv_direct_scratch)(kind == DG_OP_conv_dx, a);
}

void DG_CPU(dg_cpu_conv_fwd)(const dg_conv_args *a, const dg_tune *tune)
{
    if (winograd(tune))
        DG_CPU(dg_conv_winograd)(false, a);
    else
        DG_CPU(dg_conv_direct)(false, a);
}

void DG_CPU(dg_cpu_conv_dx)(const dg_conv_args *a, const dg_tune *tune)
{
    if (winograd(tune))
        DG_CPU(dg_conv_winograd)(true, a);
    else
        DG_CPU(dg_conv_direct)(true, a);
}

void DG_CPU(dg_cpu_conv_dw)(const dg_conv_args *a, const dg_tune *tune)
{
    if (winograd(tune))
        DG_CPU(dg_conv_winograd_dw)(a);
    else
        DG_CPU(dg_conv_dw_direct)(a);
}
