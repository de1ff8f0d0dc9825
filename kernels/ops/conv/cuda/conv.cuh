/* The variants of the convolution, one file each; all but direct are fp32 only. The row in a variant's C file checks
 * which shapes it supports. */
#ifndef DG_CONV_CUH
#define DG_CONV_CUH

#include "kernels/dev/cuda.cuh"
extern "C" {
#include "core/tune/conv_tiles.h"
#include "kernels/ops/conv/variants.h"
}

#define X(name) void dg_conv_##name(dg_op_kind kind, const dg_conv_args *a, const dg_tune *tune, cudaStream_t stream);
DG_CONV_VARIANTS(X)
#undef X

void dg_conv_thin_mma_dw(const dg_conv_args *a, const dg_tune *tune, cudaStream_t stream);

/* mma and wgmma, one file per direction; wgmma has no weight gradient. The parts of a split sum are consecutive in
 * out. */
void dg_conv_mma_fwd_bf16(const dg_conv_args *a, const dg_tune *tune, float *out, cudaStream_t stream);
void dg_conv_mma_dx_bf16(const dg_conv_args *a, const dg_tune *tune, float *out, cudaStream_t stream);
void dg_conv_wgmma_fwd(const dg_conv_args *a, const dg_tune *tune, float *out, cudaStream_t stream);
void dg_conv_wgmma_dx(const dg_conv_args *a, const dg_tune *tune, float *out, cudaStream_t stream);
void dg_conv_mma_dw(const dg_conv_args *a, const dg_tune *tune, float *out, cudaStream_t stream);
void dg_conv_mma_fp16(dg_op_kind kind, const dg_conv_args *a, const dg_tune *tune, float *out, cudaStream_t stream);

size_t dg_conv_count(dg_op_kind kind, const dg_conv_args *a);

/* out[i] = sum over k of part[k * count + i], in a fixed order. */
void dg_conv_sum(float *out, const float *part, size_t count, int parts, cudaStream_t stream);

#endif
