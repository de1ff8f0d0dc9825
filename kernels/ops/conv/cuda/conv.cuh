/* Launchers of the convolution variants. All variants except direct require fp32. The C file of a variant rejects
 * shapes that its launcher does not support. */
#pragma once

#include "kernels/dev/cuda.cuh"
extern "C" {
#include "core/tune/conv_tiles.h"
#include "kernels/ops/conv/variants.h"
}

#define X(name) void dg_conv_##name(dg_op_kind kind, const dg_conv_args *a, const dg_tune *tune, cudaStream_t stream);
DG_CONV_VARIANTS(X)
#undef X

void dg_conv_thin_mma_dw(const dg_conv_args *a, const dg_tune *tune, cudaStream_t stream);

/* Launchers of variants mma and wgmma (_wide: warpgroups). `_bf16` and `_wide` have no weight gradient. The parts of a
 * split sum are consecutive in `out`. */
void dg_conv_mma_bf16(dg_op_kind kind, const dg_conv_args *a, const dg_tune *tune, float *out, cudaStream_t stream);
void dg_conv_mma_wide(dg_op_kind kind, const dg_conv_args *a, const dg_tune *tune, float *out, cudaStream_t stream);
void dg_conv_mma_dw(const dg_conv_args *a, const dg_tune *tune, float *out, cudaStream_t stream);
void dg_conv_mma_fp16(dg_op_kind kind, const dg_conv_args *a, const dg_tune *tune, float *out, cudaStream_t stream);

/* Returns where kernels store: the result tensor, or scratch memory for the parts of a split sum. */
float *dg_conv_out(dg_op_kind kind, const dg_conv_args *a, const dg_tune *tune);

/* Adds the parts of a split sum to the result, in a fixed order. */
void dg_conv_finish(dg_op_kind kind, const dg_conv_args *a, const dg_tune *tune, cudaStream_t stream);
