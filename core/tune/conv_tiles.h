/* Tiles for which the fast CUDA convolutions are compiled (kernels/ops/conv/cuda). The kernels and the checks of tuning
 * rows use these lists. */
#pragma once

#include <stdbool.h>

#include "core/plan/ops.h"

/* Tiles of variant tiled: X(rows per block, columns per block, rows per thread, columns per thread). A row of results
 * is a pixel, and a column is a channel. In the weight gradient (dw), a row is a channel of y, and a column is a tap
 * and a channel of x. Tiles of dw are square. */
#define DG_TILED_SQUARE(X) \
    X(128, 128, 8, 8)      \
    X(64, 64, 8, 4)        \
    X(32, 32, 4, 4)
#define DG_TILED_OBLONG(X) \
    X(128, 64, 8, 8)       \
    X(128, 32, 8, 4)       \
    X(64, 32, 4, 4)
#define DG_TILED_TILES(X) DG_TILED_SQUARE(X) DG_TILED_OBLONG(X)
enum { DG_TILED_K = 16, DG_TILED_PAD = 4 };

/* 32-bit words of shared memory per pipeline stage, for operands stored by rows or by columns (gemm.cuh). */
#define DG_TILED_SIDE(b, by_rows) ((by_rows) ? (b) * (DG_TILED_K + DG_TILED_PAD) : DG_TILED_K * (b))
#define DG_TILED_WORDS(m, n, m_rows, n_rows) (DG_TILED_SIDE(m, m_rows) + DG_TILED_SIDE(n, n_rows))

/* Data gradient of variant thin: rows, columns and images of the positions that a block computes. A position is 2x2
 * pixels of x. DG_THIN_DX_SMALL is for W <= 32. A pipeline stage has DG_THIN_DX_STEP channels of y. */
#define DG_THIN_DX_SMALL 8, 8, 8
#define DG_THIN_DX_LARGE 16, 32, 1
enum { DG_THIN_SMALL = 32, DG_THIN_DX_STEP = 4 };

/* Shared memory in 32-bit words: LINE is the size of a row of positions with its border, and WORDS the size of a
 * pipeline stage, which holds weights and the patches of all images. */
#define DG_THIN_DX_LINE(cols) (((cols) + 2) * 4 + ((cols) + 2) / 4 * 4)
#define DG_THIN_DX_WORDS(rows, cols, images) \
    ((images) * ((rows) + 2) * DG_THIN_DX_LINE(cols) + DG_THIN_DX_STEP * 16 * 4)

/* G's fused first layer: a block computes DG_DENSE_CHANNELS channels of one pixel of DG_DENSE_IMAGES images. */
enum { DG_DENSE_IMAGES = 16, DG_DENSE_CHANNELS = 128 };

/* A copy of 16 bytes has DG_MMA_UNIT rounded operands. A step of the main loop has DG_MMA_CHUNK channels. */
enum { DG_MMA_UNIT = 8, DG_MMA_CHUNK = 16 };

/* Tiles of variant mma: X(small, positions per block, channels per block, WN, groups). In dx, positions are counted per
 * phase. For dw: X(channels of y, channels of x). A warp computes 64 x WN results. Small tiles are for small maps
 * (DG_MMA_SMALL). The 16 taps are divided into `groups` groups. */
#define DG_MMA_FWD_TILES(X)  \
    X(false, 128, 64, 32, 8) \
    X(true, 128, 64, 32, 8)  \
    X(true, 128, 128, 32, 4)
#define DG_MMA_DX_TILES(X)   \
    X(false, 64, 32, 32, 2)  \
    X(false, 128, 32, 32, 1) \
    X(true, 64, 32, 32, 2)   \
    X(true, 128, 32, 32, 1)
#define DG_MMA_DW_TILES(X) X(64, 16)

/* Forward tiles of variant mma with fp16, one for small maps and one for other maps. The tiles fit Turing's 64 KB of
 * shared memory. All GPUs use one set of fp16 tiles, so that sums have the same order. */
#define DG_FP16_FWD_TILES(X) \
    X(true, 64, 128, 32, 8)  \
    X(false, 128, 64, 32, 8)

/* Tiles of variant wgmma. A warpgroup computes 64 positions and all channels of the tile. In the data gradient (dx), a
 * warpgroup computes two of the four phases. */
#define DG_WGMMA_FWD_TILES(X) \
    X(false, 128, 64, 64, 2)  \
    X(false, 256, 64, 64, 4)  \
    X(true, 128, 64, 64, 2)   \
    X(true, 128, 128, 128, 4)
#define DG_WGMMA_DX_TILES(X) \
    X(true, 64, 32, 32, 1)   \
    X(true, 128, 32, 32, 2)  \
    X(true, 128, 64, 64, 4)  \
    X(false, 64, 32, 32, 1)  \
    X(false, 128, 32, 32, 1) \
    X(false, 256, 32, 32, 2)
enum { DG_MMA_SMALL = 4 }; /* largest width of y with 4x4 cells; wider maps have 8x8 cells (conv_mma.cuh) */

/* Sizes of a patch in shared memory, in units of 16 bytes. conv_mma.cuh defines cell, phase and plane. */
#define DG_MMA_UP(n, r) ((n) + ((r) - (n) % 8 + 8) % 8) /* smallest number >= n that equals r mod 8 */
#define DG_MMA_CELL(small, halved) ((halved) ? ((small) ? 28 : 81) : ((small) ? 36 : 100))
#define DG_MMA_CELLS(small, pieces, halved) ((pieces) * ((small) ? 4 : 1) * DG_MMA_CELL(small, halved))
#define DG_MMA_PHASE(small, pieces, halved) DG_MMA_UP(DG_MMA_CELLS(small, pieces, halved), 2)
#define DG_MMA_PLANE(small, pieces, halved) \
    ((halved) ? 4 * DG_MMA_PHASE(small, pieces, halved) + 4 : DG_MMA_UP(DG_MMA_CELLS(small, pieces, halved), 4))
#define DG_MMA_VALUES(small, pieces, halved) \
    ((pieces) * ((halved) ? ((small) ? 400 : 324) : ((small) ? 144 : 100))) /* pixels of a patch */
#define DG_MMA_TRANSFERS(small, pieces, halved, threads) \
    ((2 * DG_MMA_VALUES(small, pieces, halved) + (threads)-1) / (threads) * (threads) / 2)
#define DG_MMA_FACTORS(small, pieces, halved, n, groups) \
    (32 * (2 * DG_MMA_PLANE(small, pieces, halved) + 16 / (groups)*2 * (n)))
#define DG_MMA_BYTES(small, pieces, halved, n, groups, threads)                             \
    (DG_MMA_FACTORS(small, pieces, halved, n, groups) + 16 * (pieces) * ((small) ? 4 : 1) + \
     8 * DG_MMA_TRANSFERS(small, pieces, halved, threads))
/* PORTION is the bytes of weights per pipeline stage. If the weights are rounded in memory, a block has four stages, or
 * `large` stages if PORTION exceeds 9 KB; else two stages. For mma, `large` is 2, because four large stages would
 * exceed the 99 KB of shared memory per block on sm_86, 89 and 120. For wgmma, which runs on sm_90 only, `large` is
 * DG_WGMMA_STAGES: two blocks of the forward tile 128x64 share the 227 KB of a multiprocessor. DG_MMA_BYTES counts two
 * stages. */
#define DG_MMA_PORTION(n, groups) (16 * (16 / (groups)*2 * (n)))
#define DG_WGMMA_STAGES(small, fwd, m) ((fwd) && !(small) && (m) == 128 ? 3 : 4)
#define DG_MMA_STAGES(rounded, scaled, large, portion) (!(rounded) || (scaled) ? 2 : (portion) <= 9 << 10 ? 4 : (large))
/* maximum `split` of wgmma forward and dx, and maximum blocks per cluster in fused launches */
enum { DG_WGMMA_PARTS = 8 };
#define DG_MMA_DW_BYTES(small) (32 * (2 * DG_MMA_PLANE(small, 1, 1) + 8 * 64))

/* Tiles of variant mma_odd (3x3 and 1x1 kernels). M x N is positions x channels per block or, in dw, channels of y x
 * channels of x. A warp computes 64 x 32 results. In dw of 3x3 kernels, all results of a warp belong to one tap. */
#define DG_ODD_M(k, dw) ((dw) && (k) == 3 ? 64 : 128)
#define DG_ODD_N(k, dw) ((k) == 1 ? 128 : (dw) ? 32 : 64)
#define DG_ODD_THREADS(k, dw) ((k) == 1 ? 256 : (dw) ? 384 : 128)
#define DG_ODD_DEPTH(k) ((k) == 1 ? 4 : 1)
#define DG_ODD_PRODUCTS(k) ((k) == 1 ? 4 : 3)
#define DG_ODD_CELLS(k) (DG_ODD_M(k, 0) / ((k) == 1 ? 1 : 16))
#define DG_ODD_VALUES(k) (DG_ODD_CELLS(k) * ((k) == 1 ? 1 : 36))
#define DG_ODD_BYTES(k)                                                                              \
    (64 * (DG_ODD_DEPTH(k) * DG_MMA_UP(DG_ODD_VALUES(k), 4) + DG_ODD_PRODUCTS(k) * DG_ODD_N(k, 0)) + \
     16 * DG_ODD_CELLS(k) +                                                                          \
     8 * ((2 * DG_ODD_VALUES(k) + DG_ODD_THREADS(k, 0) - 1) / DG_ODD_THREADS(k, 0) * DG_ODD_THREADS(k, 0) / 2))
enum { DG_ODD_PIECE = 64 }; /* weight gradient (dw): positions per step of the main loop */
#define DG_ODD_DW_BYTES(k)                                                                      \
    (4 * (DG_ODD_N(k, 1) * DG_MMA_UP((k) == 1 ? (int)DG_ODD_PIECE : DG_MMA_CELLS(1, 1, 0), 4) + \
          DG_ODD_M(k, 1) * DG_ODD_PIECE))

/* Weight gradient by wgmma (fused_update_wgmma.cuh). PLANE (for x) and PITCH (for y) are in units of 16 bytes. */
#define DG_WGMMA_DW_PLANE(small) ((small) ? 100 : 84)
#define DG_WGMMA_DW_PITCH 68
#define DG_WGMMA_DW_BYTES(small, stages) (16 * (stages) * (8 * DG_WGMMA_DW_PLANE(small) + 8 * DG_WGMMA_DW_PITCH))

/* Tile of variant thin, and shared memory of its weight gradient in 32-bit words. Shared memory first holds a patch of
 * x and a tile of y, and later the sums of half of the warps. */
enum { DG_THIN_TILE_ROWS = 4, DG_THIN_TILE_COLS = 32, DG_THIN_TILE_CHANNELS = 32 };
#define DG_THIN_PATCH_WORDS(channels) ((2 * DG_THIN_TILE_ROWS + 2) * (2 * DG_THIN_TILE_COLS + 2) * (channels))
#define DG_THIN_TILE_WORDS (DG_THIN_TILE_ROWS * DG_THIN_TILE_COLS * DG_THIN_TILE_CHANNELS)
#define DG_THIN_SUM_WORDS(channels) (4 * 32 * 4 * 4 * (channels))
#define DG_THIN_DW_WORDS(channels)                                                    \
    (DG_THIN_PATCH_WORDS(channels) + DG_THIN_TILE_WORDS > DG_THIN_SUM_WORDS(channels) \
         ? DG_THIN_PATCH_WORDS(channels) + DG_THIN_TILE_WORDS                         \
         : DG_THIN_SUM_WORDS(channels))

/* A step of thin_mma's data gradient has COLS positions and CHUNK channels. Shared memory holds the weights, two
 * coefficients per channel, and the sums that each row of positions passes to the next row. */
enum { DG_THIN_MMA_COLS = 16, DG_THIN_MMA_CHUNK = 16 };
#define DG_THIN_MMA_BYTES(channels, co, rows) \
    (((co) + DG_THIN_MMA_CHUNK - 1) / DG_THIN_MMA_CHUNK * ((channels)*2 * 32 * 8 + 128) + (rows) * (channels)*512)
/* Maximum rows of y per block, one per warp. Two adjacent blocks both compute the row at their border. Two blocks cover
 * the 32 rows of an image, so that the 128 blocks of 64 images fill the multiprocessors. */
enum { DG_THIN_MMA_ROWS = 18 };
static inline int dg_thin_mma_rows(int Ho)
{
    const int own = DG_THIN_MMA_ROWS - 1, blocks = (Ho + own) / own;
    return (Ho + blocks) / blocks + 1;
}

/* If the kernel covers all of x, so that y has one pixel, returns the convolution as a 1x1 convolution with K*K*Ci
 * channels (a matrix product). Returns other convolutions unchanged. */
static inline dg_conv_args dg_conv_flat(const dg_conv_args *a)
{
    dg_conv_args f = *a;
    if (a->Ho == 1 && a->Wo == 1 && a->P == 0 && a->H == a->K && a->W == a->K) {
        f.Ci = a->K * a->K * a->Ci;
        f.H = f.W = f.K = f.S = 1;
    }
    return f;
}

/* Pixels and channels of x in a convolution whose kernel covers all of x. The channels of the pixels are consecutive.
 */
static inline int dg_conv_pixels(const dg_conv_args *a) { return a->pixels ? a->pixels : a->H * a->W; }
static inline int dg_conv_channels(const dg_conv_args *a) { return a->pixels ? a->Ci / a->pixels : a->Ci; }

static inline bool dg_is_conv(dg_op_kind kind)
{
    return kind == DG_OP_conv_fwd || kind == DG_OP_conv_dx || kind == DG_OP_conv_dw;
}

/* Tiles of wgmma for 3x3 convolutions with stride 2, which run as 4x4 convolutions: one tile per direction. */
#define DG_ODD_WIDE_M(dx) ((dx) ? 64 : 128)
#define DG_ODD_WIDE_N(dx) ((dx) ? 32 : 64)
enum { DG_ODD_WIDE_THREADS = 256 };
static inline bool dg_odd_by_warpgroups(dg_op_kind kind, const dg_tune *t)
{
    const bool dx = kind == DG_OP_conv_dx;
    return kind != DG_OP_conv_dw && t->math == DG_MATH_BF16 && t->tile_m == DG_ODD_WIDE_M(dx) &&
           t->tile_n == DG_ODD_WIDE_N(dx) && t->block == DG_ODD_WIDE_THREADS;
}

static inline bool dg_conv_is_halving(const dg_conv_args *a) { return a->K == 4 && a->S == 2 && a->P == 1; }

static inline bool dg_direct_by_warps(const dg_conv_args *a) { return (int64_t)a->N * a->Ho * a->Wo >= 512; }

static inline bool dg_mma_is_small(const dg_conv_args *a) { return a->Wo <= DG_MMA_SMALL; }
