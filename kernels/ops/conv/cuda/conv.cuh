/* The variants of the convolution, each in a file of its own; all but direct are for float. What each can take is
 * said in core/tune/variants.c, which the tuning reader and the heuristic ask. */
#ifndef DG_CONV_CUH
#define DG_CONV_CUH

#include "kernels/dev/cuda.cuh"
extern "C" {
#include "core/tune/conv_tiles.h"
}

/* tiled: implicit GEMM, any K, S, P; channels multiples of 4. */
void dg_conv_tiled(dg_op_kind kind, const dg_conv_args *a, const dg_tune *tune, cudaStream_t stream);

/* patch: data gradient of a 4x4 convolution of stride 2 and pad 1, all four phases from one patch of y. */
void dg_conv_patch(const dg_conv_args *a, const dg_tune *tune, cudaStream_t stream);

/* thin: 1 or 3 channels on the side of x; 4x4, stride 2, pad 1. thin_mma: the same on tensor cores. */
void dg_conv_thin(dg_op_kind kind, const dg_conv_args *a, const dg_tune *tune, cudaStream_t stream);
void dg_conv_thin_mma_dw(const dg_conv_args *a, const dg_tune *tune, cudaStream_t stream);

/* mma: on tensor cores, factors rounded to tune->math; 4x4, stride 2, pad 1, channels multiples of 4. The parts of
 * a split are written one behind the other to out; each direction has a file. wgmma: the same by Hopper's warpgroups,
 * bf16, no weight gradient. */
void dg_conv_mma(dg_op_kind kind, const dg_conv_args *a, const dg_tune *tune, cudaStream_t stream);
void dg_conv_mma_fwd(const dg_conv_args *a, const dg_tune *tune, float *out, cudaStream_t stream);
void dg_conv_mma_dx(const dg_conv_args *a, const dg_tune *tune, float *out, cudaStream_t stream);
void dg_conv_wgmma_fwd(const dg_conv_args *a, const dg_tune *tune, float *out, cudaStream_t stream);
void dg_conv_wgmma_dx(const dg_conv_args *a, const dg_tune *tune, float *out, cudaStream_t stream);
void dg_conv_mma_dw(const dg_conv_args *a, const dg_tune *tune, float *out, cudaStream_t stream);
void dg_conv_mma_fp16(dg_op_kind kind, const dg_conv_args *a, const dg_tune *tune, float *out, cudaStream_t stream);

/* gemv: one pixel and at most 4 channels on the side of y, x as large as the kernel. */
void dg_conv_gemv(dg_op_kind kind, const dg_conv_args *a, cudaStream_t stream);

/* cublas: one GEMM, between an unfolding or a folding where the shape is not a GEMM's already. */
void dg_conv_cublas(dg_op_kind kind, const dg_conv_args *a, cudaStream_t stream);

/* Elements that the op writes. */
size_t dg_conv_count(dg_op_kind kind, const dg_conv_args *a);

/* out[i] = sum over k of part[k * count + i], in a fixed order. */
void dg_conv_sum(float *out, const float *part, size_t count, int parts, cudaStream_t stream);

#endif
