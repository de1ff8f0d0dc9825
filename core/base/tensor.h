/* Shapes and element types of tensors. The layout is NHWC in memory and PyTorch's NCHW in files. */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef enum { DG_F32, DG_F64, DG_U8, DG_I32, DG_I64, DG_TYPES } dg_type;

typedef struct {
    int N, H, W, C; /* a vector of n values is (1, 1, 1, n) */
} dg_shape;

/* Maximum number of values of a tensor with its whole batch, because kernels index with int. */
#define DG_TENSOR_VALUES INT32_MAX

static inline size_t dg_type_bytes(dg_type t)
{
    static const unsigned char bytes[DG_TYPES] = {4, 8, 1, 4, 8};
    return bytes[t];
}

static inline size_t dg_count(dg_shape s) { return (size_t)s.N * (size_t)s.H * (size_t)s.W * (size_t)s.C; }
