/* The families of fused convolutions: which one a convolution gets, and what each says of itself. Internal to kernels/. */
#ifndef DG_FUSE_PARTS_H
#define DG_FUSE_PARTS_H

#include "fuse.h"

typedef enum { DG_FUSED_NONE, DG_FUSED_MMA, DG_FUSED_THIN, DG_FUSED_DENSE } dg_fused_family;
dg_fused_family dg_fused_family_of(dg_op_kind kind, const dg_conv_args *a, const dg_tune *tune);

/* fused_mma.c, fused_thin.c, fused_dense.c */
const char *dg_fused_mma_refuses(dg_op_kind kind, const dg_fused_conv *f, const dg_tune *tune, const dg_gpu *gpu);
const char *dg_fused_thin_refuses(dg_op_kind kind, const dg_fused_conv *f, const dg_tune *tune, const dg_gpu *gpu);
const char *dg_fused_dense_refuses(dg_op_kind kind, const dg_fused_conv *f, const dg_tune *tune, const dg_gpu *gpu);
dg_fused_size dg_fused_mma_size(dg_op_kind kind, const dg_fused_conv *f, const dg_tune *tune);
dg_fused_size dg_fused_thin_size(dg_op_kind kind, const dg_fused_conv *f, const dg_tune *tune);
dg_fused_size dg_fused_dense_size(dg_op_kind kind, const dg_fused_conv *f, const dg_tune *tune);

/* Bytes of two sums of each block for each channel, and of the blocks' numbers of values (fuse.cuh); a multiple of 16. */
static inline size_t dg_parts_bytes(int blocks, int C) { return ((size_t)blocks * (2 * (size_t)C + 1) * sizeof(float) + 15) / 16 * 16; }

#endif
