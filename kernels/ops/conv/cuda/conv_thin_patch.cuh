/* Patches for convolutions of images: 1 or 3 channels of x, 4x4, stride 2, pad 1. A pixel has fewer than 16 bytes, so
 * patches are loaded value by value. */
#pragma once

#include "kernels/ops/conv/cuda/conv.cuh"

static constexpr int DG_THIN_K = 4, DG_THIN_ROWS = DG_THIN_TILE_ROWS, DG_THIN_COLS = DG_THIN_TILE_COLS,
                     DG_THIN_CHANNELS = DG_THIN_TILE_CHANNELS;
static constexpr int DG_THIN_PATCH_ROWS = 2 * DG_THIN_ROWS + 2, DG_THIN_PATCH_COLS = 2 * DG_THIN_COLS + 2;

/* rows of tiles in an image of y (down), and tiles per row (across) */
typedef struct {
    int down, across;
} dg_thin_tiling;

static __host__ __device__ __forceinline__ dg_thin_tiling dg_thin_tiling_of(const dg_conv_args &a)
{
    dg_thin_tiling t;
    t.down = dg_div_up(a.Ho, DG_THIN_ROWS);
    t.across = dg_div_up(a.Wo, DG_THIN_COLS);
    return t;
}

/* Loads the patch of tile (image, a0, b0), with zeros outside of x. Layout: [DG_THIN_PATCH_ROWS][DG_THIN_PATCH_COLS *
 * CI]. */
template <int CI, int NT>
static __device__ __forceinline__ void dg_thin_patch(float *patch, const dg_conv_args &a, int image, int a0, int b0)
{
    constexpr int line = DG_THIN_PATCH_COLS * CI;
    const float *x = (const float *)a.x + (int64_t)image * a.H * a.W * CI;
    const int start = (2 * b0 - 1) * CI;
    for (int i = (int)threadIdx.x; i < DG_THIN_PATCH_ROWS * line; i += NT) {
        const int row = 2 * a0 - 1 + i / line, at = start + i % line;
        patch[i] = (unsigned)row < (unsigned)a.H && (unsigned)at < (unsigned)(a.W * CI) ? x[row * a.W * CI + at] : 0.0f;
    }
}
