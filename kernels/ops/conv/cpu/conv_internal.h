/* Functions of the CPU convolution variants. Those with an argument `run` return the bytes of scratch memory that the
 * shape needs, and compute the op if `run` is set. */
#pragma once

#include <omp.h>
#include <stdbool.h>
#include <string.h>

#include "core/base/math.h"
#include "kernels/cpu/cpu.h"

enum { DG_TEAM = 32 };

size_t DG_CPU(dg_conv_direct)(dg_op_kind kind, const dg_conv_args *a, bool run);
size_t DG_CPU(dg_conv_dw_direct)(const dg_conv_args *a, bool run);

/* For few input channels (thin); called by the functions of variant direct. */
bool DG_CPU(dg_conv_fwd_is_thin)(const dg_conv_args *a);
size_t DG_CPU(dg_conv_fwd_thin)(const dg_conv_args *a, bool run);
bool DG_CPU(dg_conv_dw_is_thin)(const dg_conv_args *a);
size_t DG_CPU(dg_conv_dw_thin)(const dg_conv_args *a, bool run);

/* The functions of variant winograd require K = 2S, or K = 3 and S = 1. */
size_t DG_CPU(dg_conv_winograd)(dg_op_kind kind, const dg_conv_args *a, bool run);
size_t DG_CPU(dg_conv_winograd_dw)(const dg_conv_args *a, bool run);

bool DG_CPU(dg_conv_gemm_takes)(const dg_conv_args *a);
size_t DG_CPU(dg_conv_gemm)(dg_op_kind kind, const dg_conv_args *a, bool run);

/* Forward pass of dense layers with few rows, without scratch memory. */
bool DG_CPU(dg_conv_is_dense)(dg_op_kind kind, const dg_conv_args *a);
void DG_CPU(dg_conv_dense)(const dg_conv_args *a);

/* Divides scratch memory into arrays that begin on a cache line. If base is 0, dg_carve() only counts bytes. */
typedef struct {
    uintptr_t base;
    size_t used;
} dg_carver;

static inline void *dg_carve(dg_carver *c, size_t bytes)
{
    uintptr_t at = c->base + c->used;
    c->used += (bytes + 63) / 64 * 64;
    return (void *)at; /* NOLINT(performance-no-int-to-ptr): dereferenced only if base is not 0 */
}

/* Copies rows lo .. hi - 1 of image n of x, each with P pixels of zeros on both sides. */
static inline void dg_pad_rows(const dg_conv_args *a, real *restrict to, int n, int lo, int hi)
{
    const size_t border = (size_t)a->P * (size_t)a->Ci, inner = (size_t)a->W * (size_t)a->Ci;
    const real *from = (const real *)a->x + ((size_t)n * (size_t)a->H + (size_t)lo) * inner;
    for (int iy = lo; iy < hi; iy++, from += inner, to += inner + 2 * border) {
        memset(to, 0, border * sizeof(real));
        memcpy(to + border, from, inner * sizeof(real));
        memset(to + border + inner, 0, border * sizeof(real));
    }
}

static inline size_t dg_min_size(size_t a, size_t b) { return a < b ? a : b; }

/* Returns the number of threads for an op, at most `most`. An op of less than about 20 us gets one thread. */
static inline int dg_conv_team(const dg_conv_args *a, int most)
{
    const double products = (double)a->N * a->Ho * a->Wo * a->Co * a->K * a->K * a->Ci;
    return products < 3e5 ? 1 : dg_min(most, omp_get_max_threads());
}
