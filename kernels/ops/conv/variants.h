/* List of the CUDA convolution variants. The list declares the rows and launchers of the variants and builds the table
 * of launchers (conv.cu). A missing row or launcher fails to link. The file op.c lists the variants of each direction
 * in order of preference. */
#pragma once

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

/* CPU variants other than direct. The file conv/cpu/conv.c chooses the variant. */
extern const dg_variant dg_conv_variant_winograd, dg_conv_variant_gemm;
