/* Functions shared by the CUDA convolution variants. Plain C. */
#pragma once

#include "core/base/math.h"
#include "core/tune/conv_tiles.h"
#include "core/tune/variants.h"
#include "core/plan/work.h"
#include "kernels/ops/conv/variants.h"

/* The functions dg_conv_check...() return NULL, or the reason for a rejection. `dg_conv_check()` requires fp32, 16-byte
 * aligned operands, and indices that fit an int. This includes indices in tiles that extend past the batch. */
const char *dg_conv_check(const dg_op *op, const dg_tune *t, dg_type real);

/* Sets t->block to `threads`, the threads of the tile in t. Rejects the tile if `threads` is 0. */
const char *dg_conv_check_tile(dg_tune *t, int threads);

/* Checks the number of stages (2 to 4, default `usual`). A stage has `words` 32-bit words. */
const char *dg_conv_check_stages(dg_tune *t, int usual, int words, const dg_gpu *gpu);

/* Checks that a sum is split into at most `most` parts. `phases`: number of concurrent phases, each with its own
 * parts. */
const char *dg_conv_check_split(dg_tune *t, int most, int phases);

const char *dg_conv_check_math(const dg_gpu *gpu);

/* Combines dg_conv_check() and dg_conv_check_math(), and requires bf16. */
const char *dg_conv_check_rounded(const dg_op *op, const dg_tune *t, dg_type real, const dg_gpu *gpu);

/* Returns NULL, or the reason why kernels with this rounding are not fused on this GPU. */
const char *dg_fused_refuses_math(dg_math math, const dg_gpu *gpu);

/* A convolution as matrix products. Each phase has m x n results, and each result is a sum of k products. */
typedef struct {
    double m, n, k;
    double phases;
    double results;
} dg_conv_product;
dg_conv_product dg_conv_product_of(dg_op_kind kind, const dg_conv_args *a);

/* `dg_conv_scratch()` returns the bytes for the parts of a split sum. `dg_conv_work()` counts the cost of adding
 * them. */
size_t dg_conv_scratch(const dg_op *op, dg_type real);
void dg_conv_work(const dg_op *op, dg_type real, dg_work *w);

/* Positions of a block in the data gradient of variant thin. `words`: 32-bit words of shared memory per stage. */
typedef struct {
    int rows, cols, images, words;
} dg_thin_dx_tile;
dg_thin_dx_tile dg_thin_dx_tile_of(const dg_conv_args *a);

/* Tile of m x n results per block in variants mma and wgmma (conv_tiles.h). `bytes`: shared memory of a block.
 * `portion`: bytes of one stage of weights. `stages`: number of stages if weights are rounded to bf16 in memory.
 * `factors`: bytes of all operands (wgmma). */
typedef struct {
    int m, n, threads, bytes, portion, stages, factors;
} dg_mma_tile;

dg_mma_tile dg_mma_tile_of(dg_op_kind kind, const dg_conv_args *a, const dg_tune *t);
