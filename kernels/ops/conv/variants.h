/* The variants of the convolutions, one list: the rows (conv/cuda/NAME.c beside its kernel), their launchers
 * (conv/cuda/conv.cuh) and the table from one to the other come from it. A row without a launcher, or a launcher
 * without a row, does not link. op.c says which direction has which, and in which order the rule prefers them. */
#ifndef DG_CONV_VARIANTS_H
#define DG_CONV_VARIANTS_H

#include "core/plan/variant.h"

#define DG_CONV_VARIANTS(X) \
    X(direct)               \
    X(tiled)                \
    X(patch)                \
    X(mma)                  \
    X(mma_odd)              \
    X(wgmma)                \
    X(thin)                 \
    X(thin_mma)             \
    X(gemv)                 \
    X(cublas)
#define X(name) extern const dg_variant dg_conv_variant_##name;
DG_CONV_VARIANTS(X)
#undef X

/* Of CPUs, beside direct (conv/cpu/conv.c chooses): minimal filtering, one product. */
extern const dg_variant dg_conv_variant_winograd, dg_conv_variant_gemm;

#endif
