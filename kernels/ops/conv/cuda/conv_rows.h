/* What the rows of the convolutions' variants share. Plain C. */
#ifndef DG_CONV_ROWS_H
#define DG_CONV_ROWS_H

#include "core/base/math.h"
#include "core/tune/conv_tiles.h"
#include "core/tune/variants.h"
#include "core/plan/work.h"
#include "kernels/ops/conv/variants.h"

/* ---- Checks: NULL, or why not ---- */

/* Of all but direct: fp32, operands at 16 bytes, tensors whose values, and those of a tile beyond the batch, an int
 * numbers. */
const char *dg_conv_check(const dg_op *op, const dg_tune *t, dg_type real);

/* A block of so many threads for the tile of t; 0: there is no such tile. */
const char *dg_conv_check_tile(dg_tune *t, int threads);

/* 2 to 4 stages of so many words each; usual: how many, where t leaves it open. */
const char *dg_conv_check_stages(dg_tune *t, int usual, int words, const dg_gpu *gpu);

/* Parts of the sum, at most so many; of phases that are launched side by side each. */
const char *dg_conv_check_split(dg_tune *t, int most, int phases);

/* That the GPU rounds to gpu->math as tensor cores do. */
const char *dg_conv_check_math(const dg_gpu *gpu);

/* NULL, or why kernels that round so are not fused on this GPU. */
const char *dg_fused_refuses_math(dg_math math, const dg_gpu *gpu);

/* ---- The rule ---- */

/* Parts of a sum of so many steps, so that there are about 256 blocks, each with at least `least` steps. */
int dg_conv_split(int blocks, int steps, int least);

/* ---- Work ---- */

/* A convolution as a product of matrices, for one phase: m x n results of k products. */
typedef struct {
    double m, n, k;
    double phases;  /* of conv_dx: S * S products beside one another */
    double results; /* that the op writes */
} dg_conv_product;
dg_conv_product dg_conv_product_of(dg_op_kind kind, const dg_conv_args *a);

/* For the rows of the ops: what parts of a sum need and move. */
size_t dg_conv_scratch(const dg_op *op, dg_type real);
void dg_conv_work(const dg_op *op, dg_type real, dg_work *w);

/* ---- Tiles that several rows know ---- */

/* patch, and thin's data gradient: positions (of 2x2 outputs) and channels of a block. */
typedef struct {
    int rows, cols, images, channels;
} dg_patch_geometry;
static inline int dg_patch_words(const dg_patch_geometry *g)
{
    return DG_PATCH_WORDS(g->rows, g->cols, g->images, g->channels);
}

/* computed: channels of x that there are results of. */
void dg_patch_work(const dg_op *op, const dg_patch_geometry *g, int computed, dg_work *w);

/* A tile of variants mma and wgmma: results, threads and bytes of shared memory of its block, of these the bytes of one
 * stage of weights, and, of wgmma, those of all that is multiplied (conv_tiles.h). */
typedef struct {
    int m, n, threads, bytes, portion, factors;
} dg_mma_tile;

/* That of a convolution with a choice that has been through dg_variant_check(). */
dg_mma_tile dg_mma_tile_of(dg_op_kind kind, const dg_conv_args *a, const dg_tune *t);

#endif
