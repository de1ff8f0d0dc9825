/* List of the convolution variants. The list declares the variants' rows (conv/cuda/NAME.c) and launchers
 * (conv/cuda/conv.cuh), and builds the table that maps rows to launchers. A missing row or launcher fails to link. The
 * file op.c lists the variants of each direction in order of preference. */
#ifndef DG_CONV_VARIANTS_H
#define DG_CONV_VARIANTS_H

#include "core/plan/variant.h"

#define DG_CONV_VARIANTS(X) \
    X(direct)               \
    X(tiled)                \
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

size_t dg_conv_count(dg_op_kind kind, const dg_conv_args *a);

/* CPU variants in addition to variant direct, chosen by conv/cpu/conv.c. */
extern const dg_variant dg_conv_variant_winograd, dg_conv_variant_gemm;

#endif
