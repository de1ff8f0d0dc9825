/* The parts of conv.c: each variant says what scratch memory it needs and runs. Scratch sizes depend on shapes
 * alone, and so does the number of workspaces in it: a team is never larger than that. */
#ifndef DG_CONV_INTERNAL_H
#define DG_CONV_INTERNAL_H

#include <omp.h>
#include <stdbool.h>

#include "core/base/math.h"
#include "kernels/cpu/cpu.h"

enum { DG_TEAM = 32 }; /* workspaces, so threads of one op, at most */

/* direct: fwd and dx are one engine, "correlate every output pixel with its valid taps" (conv_direct.c) */
size_t DG_CPU(dg_conv_direct_scratch)(bool adjoint, const dg_conv_args *a);
void DG_CPU(dg_conv_direct)(bool adjoint, const dg_conv_args *a);

/* direct: forward of layers with few input channels (conv_fwd_thin.c); conv_direct.c hands over to it */
bool DG_CPU(dg_conv_fwd_is_thin)(const dg_conv_args *a);
size_t DG_CPU(dg_conv_fwd_thin_scratch)(const dg_conv_args *a);
void DG_CPU(dg_conv_fwd_thin)(const dg_conv_args *a);

/* direct: weight gradient (conv_dw.c) */
size_t DG_CPU(dg_conv_dw_scratch)(const dg_conv_args *a);
void DG_CPU(dg_conv_dw_direct)(const dg_conv_args *a);

/* direct: weight gradient of layers with few input channels (conv_dw_thin.c); conv_dw.c hands over to it */
bool DG_CPU(dg_conv_dw_is_thin)(const dg_conv_args *a);
size_t DG_CPU(dg_conv_dw_thin_scratch)(const dg_conv_args *a);
void DG_CPU(dg_conv_dw_thin)(const dg_conv_args *a);

/* winograd: K = 2S, or K = 3 and S = 1, by minimal filtering (conv_winograd_data.c, conv_winograd_dw.c) */
size_t DG_CPU(dg_conv_winograd_scratch)(bool adjoint, const dg_conv_args *a);
void DG_CPU(dg_conv_winograd)(bool adjoint, const dg_conv_args *a);
size_t DG_CPU(dg_conv_winograd_dw_scratch)(const dg_conv_args *a);
void DG_CPU(dg_conv_winograd_dw)(const dg_conv_args *a);

/* gemm: one product of matrices (conv_gemm.c) */
bool DG_CPU(dg_conv_gemm_takes)(const dg_conv_args *a);
size_t DG_CPU(dg_conv_gemm_scratch)(dg_op_kind kind, const dg_conv_args *a);
void DG_CPU(dg_conv_gemm)(dg_op_kind kind, const dg_conv_args *a);

/* gemm: forward of dense layers of few rows, without scratch memory (conv_dense.c); conv_gemm.c hands over to it */
bool DG_CPU(dg_conv_is_dense)(dg_op_kind kind, const dg_conv_args *a);
void DG_CPU(dg_conv_dense)(const dg_conv_args *a);

/* Scratch memory handed out piece by piece, each on a cache line of its own; with base 0 it only counts. */
typedef struct {
    uintptr_t base;
    size_t used;
} dg_carver;

static inline void *dg_carve(dg_carver *c, size_t bytes)
{
    uintptr_t at = c->base + c->used;
    c->used += (bytes + 63) / 64 * 64;
    return (void *)at; /* NOLINT(performance-no-int-to-ptr): only followed when base is real memory */
}

static inline size_t dg_min_size(size_t a, size_t b) { return a < b ? a : b; }

/* Threads of an op, of at most so many: below some 20 us on one thread the others would not help. */
static inline int dg_conv_team(const dg_conv_args *a, int most)
{
    const double products = (double)a->N * a->Ho * a->Wo * a->Co * a->K * a->K * a->Ci;
    return products < 3e5 ? 1 : dg_min(most, omp_get_max_threads());
}

#endif
