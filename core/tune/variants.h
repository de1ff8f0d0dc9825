/* What the parts of variants.c share. */
#ifndef DG_VARIANTS_H
#define DG_VARIANTS_H

#include <stdbool.h>

#include "core/tune/tune.h"

/* Keeps the words for this thread and returns them: why something cannot be. */
const char *dg_variant_no(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A tile of variants mma and wgmma (variants_mma.c): results, threads and bytes of shared memory of its block. */
typedef struct {
    int m, n, threads, bytes;
} dg_mma_tile;

/* That of a convolution with a choice that has been through dg_variant_check(). */
dg_mma_tile dg_mma_tile_of(dg_op_kind kind, const dg_conv_args *a, const dg_tune *t);

/* Variants mma and wgmma (variants_mma.c): fill in what t leaves open; NULL, or why this convolution cannot run so. */
const char *dg_variant_check_mma(dg_op_kind kind, const dg_conv_args *a, dg_tune *t, const dg_gpu *gpu);

/* Variant thin_mma: the same; it has nothing to choose but into how many parts, most at most, the sum is cut. */
const char *dg_variant_check_thin_mma(dg_op_kind kind, const dg_conv_args *a, int most, dg_tune *t, const dg_gpu *gpu);

/* NULL, or why kernels that round so are not fused on this GPU. */
const char *dg_fused_refuses_math(dg_math math, const dg_gpu *gpu);

/* The rule for tile and split of mma. wgmma is chosen by rows alone. */
void dg_variant_choose_mma(const dg_op *op, dg_tune *t, const dg_gpu *gpu);

#endif
