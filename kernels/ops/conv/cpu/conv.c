/* Convolution on the CPU: forward, data gradient and weight gradient, and the choice of their variants. */
#include "kernels/ops/conv/cpu/conv_internal.h"
#include "kernels/ops/conv/variants.h"

static bool filters(const dg_conv_args *a) { return a->K == 2 * a->S || (a->K == 3 && a->S == 1); }

/* True if enough outputs of the Winograd tiles are inside the map. With two taps per axis, all outputs must be inside.
 * With three taps, half of the outputs must be inside, because Winograd saves more products. For weight gradients with
 * three taps, a quarter of the outputs must be inside, because direct sums are slow on small maps. */
static bool tiles_fit(dg_op_kind kind, const dg_conv_args *a, int H, int W)
{
    if (a->K == 2 * a->S) return H % 4 == 0 && W % 4 == 0;
    const int64_t computed = (int64_t)dg_ceil_div(H, 4) * dg_ceil_div(W, 4) * 16, used = (int64_t)H * W;
    return kind == DG_OP_conv_dw ? computed <= 4 * used : H >= 4 && W >= 4 && computed <= 2 * used;
}

/* True if Winograd is faster than the direct variant and exact enough. The channels must fill vectors, and the tiles
 * must fit the map. For sums of fewer than 256 terms, the direct variant is more exact. Winograd's relative fp32 error
 * is 4e-7 (5e-7 with three taps). The direct variant computes fp64, because fp64 results are the reference for
 * comparisons. */
static bool suits_winograd(dg_op_kind kind, const dg_conv_args *a)
{
    int H = kind == DG_OP_conv_dx ? dg_ceil_div(a->H, a->S) : a->Ho;
    int W = kind == DG_OP_conv_dx ? dg_ceil_div(a->W, a->S) : a->Wo;
    const int64_t taps = (int64_t)a->K * a->K;
    const int64_t terms = kind == DG_OP_conv_dw   ? (int64_t)a->N * a->Ho * a->Wo
                          : kind == DG_OP_conv_dx ? taps / (a->S * a->S) * a->Co
                                                  : taps * a->Ci;
    return DG_FP == 32 && a->Ci >= 16 && a->Co >= 16 && terms >= 256 && tiles_fit(kind, a, H, W);
}

/* 4x4 kernels (first and last layers of GANs) use the direct variant, so that older checkpoints give equal results. */
static bool suits_gemm(const dg_conv_args *a) { return a->K != 4; }

/* If `asked` is NULL, returns the variant that suits the shape. If no kernel of the variant `asked` supports the shape,
 * returns NULL. */
static const dg_variant *variant_for(dg_op_kind kind, const dg_conv_args *a, const dg_variant *asked)
{
    const dg_variant *direct = &dg_conv_variant_direct, *winograd = &dg_conv_variant_winograd,
                     *gemm = &dg_conv_variant_gemm;
    const bool flat = DG_CPU(dg_conv_gemm_takes)(a);
    if (!asked) return flat && suits_gemm(a) ? gemm : filters(a) && suits_winograd(kind, a) ? winograd : direct;
    return asked == direct || (filters(a) && asked == winograd) || (flat && asked == gemm) ? asked : NULL;
}

/* If the requested variant does not support the shape, the op keeps the direct variant, which supports every shape. */
void DG_CPU(dg_cpu_choose_conv)(dg_op *op, const dg_variant *asked)
{
    const dg_variant *variant = variant_for(op->kind, &op->u.conv, asked);
    if (variant) op->tune.variant = variant;
    if (asked) op->tune.why = variant ? "--conv" : "--conv: the chosen algorithm does not support this shape";
}

static size_t call(dg_op_kind kind, const dg_conv_args *a, const dg_tune *tune, bool run)
{
    const dg_variant *variant = tune ? tune->variant : NULL;
    const bool dw = kind == DG_OP_conv_dw;
    if (variant == &dg_conv_variant_gemm) return DG_CPU(dg_conv_gemm)(kind, a, run);
    if (variant == &dg_conv_variant_winograd)
        return dw ? DG_CPU(dg_conv_winograd_dw)(a, run) : DG_CPU(dg_conv_winograd)(kind, a, run);
    return dw ? DG_CPU(dg_conv_dw_direct)(a, run) : DG_CPU(dg_conv_direct)(kind, a, run);
}

size_t DG_CPU(dg_cpu_scratch_conv)(const dg_op *op) { return call(op->kind, &op->u.conv, &op->tune, false); }

DG_CPU_OP(conv_fwd, conv) { call(DG_OP_conv_fwd, a, tune, true); }

DG_CPU_OP(conv_dx, conv) { call(DG_OP_conv_dx, a, tune, true); }

DG_CPU_OP(conv_dw, conv) { call(DG_OP_conv_dw, a, tune, true); }
