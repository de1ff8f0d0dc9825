/* Functions shared by the CUDA convolution variants. Plain C. */
#ifndef DG_CONV_ROWS_H
#define DG_CONV_ROWS_H

#include "core/base/math.h"
#include "core/tune/conv_tiles.h"
#include "core/tune/variants.h"
#include "core/plan/work.h"
#include "kernels/ops/conv/variants.h"

/* The functions dg_conv_check... return NULL, or the reason for a rejection. All variants except direct require fp32,
 * 16-byte aligned operands, and indices that fit an int, also in the part of a tile past the batch. */
const char *dg_conv_check(const dg_op *op, const dg_tune *t, dg_type real);

/* Checks the tile of tuning t. `threads` is the number of threads per block, or 0 if no such tile exists. */
const char *dg_conv_check_tile(dg_tune *t, int threads);

/* Checks the number of stages (2 to 4, default `usual`). A stage has `words` 32-bit words. */
const char *dg_conv_check_stages(dg_tune *t, int usual, int words, const dg_gpu *gpu);

/* Checks the number of parts of a split sum, at most `most`. `phases`: number of concurrent phases, each with its own
 * parts. */
const char *dg_conv_check_split(dg_tune *t, int most, int phases);

const char *dg_conv_check_math(const dg_gpu *gpu);

/* Returns NULL, or the reason why kernels with this rounding are not fused on this GPU. */
const char *dg_fused_refuses_math(dg_math math, const dg_gpu *gpu);

/* A convolution as a matrix product, per phase: m x n results, each a sum of k products. */
typedef struct {
    double m, n, k;
    double phases;
    double results;
} dg_conv_product;
dg_conv_product dg_conv_product_of(dg_op_kind kind, const dg_conv_args *a);

/* Return the bytes of scratch memory for the parts of a split sum, and the cost of adding these parts. */
size_t dg_conv_scratch(const dg_op *op, dg_type real);
void dg_conv_work(const dg_op *op, dg_type real, dg_work *w);

/* A block's tile in the data gradient of variant thin: positions, and 32-bit words of shared memory per stage. */
typedef struct {
    int rows, cols, images, words;
} dg_thin_dx_tile;
dg_thin_dx_tile dg_thin_dx_tile_of(const dg_conv_args *a);

/* A block's tile of m x n results in variants mma and wgmma (conv_tiles.h). `bytes`: shared memory of a block.
 * `portion`: bytes of one stage of weights. `factors`: bytes of all operands (wgmma). */
typedef struct {
    int m, n, threads, bytes, portion, factors;
} dg_mma_tile;

dg_mma_tile dg_mma_tile_of(dg_op_kind kind, const dg_conv_args *a, const dg_tune *t);

#endif
