/* Weight gradient of images. A lane sums one row of taps for 4 channels of y. Each of the eight warps sums half a row
 * of a tile's pixels. */
#pragma once

#include "kernels/ops/conv/cuda/conv_thin_patch.cuh"

static constexpr int DG_THIN_DW_THREADS = 256, DG_THIN_DW_WARPS = DG_THIN_DW_THREADS / 32;
static constexpr int DG_THIN_DW_RUN = DG_THIN_ROWS * DG_THIN_COLS / DG_THIN_DW_WARPS;
static_assert(DG_THIN_DW_RUN * DG_THIN_DW_WARPS == DG_THIN_ROWS * DG_THIN_COLS && DG_THIN_COLS % DG_THIN_DW_RUN == 0,
              "the positions of a warp must be contiguous within one row");
static_assert(DG_THIN_CHANNELS / 4 * DG_THIN_K == 32, "the 32 lanes of a warp must cover all weights");

template <int CI> struct dg_thin_dw {
    static constexpr int line = DG_THIN_PATCH_COLS * CI, row_taps = DG_THIN_K * CI, sums = 32 * 4 * row_taps;
    static constexpr int patch_words = DG_THIN_PATCH_ROWS * line,
                         grad_words = DG_THIN_ROWS * DG_THIN_COLS * DG_THIN_CHANNELS;
    /* Shared memory holds the patch and the gradient of y. After the last tile, shared memory holds the sums as
     * [warp][sum][lane]. */
    static constexpr int words = DG_THIN_DW_WORDS(CI);
    static_assert(words >= patch_words + grad_words && words >= DG_THIN_DW_WARPS / 2 * sums,
                  "the shared memory must hold the tensors, and later the sums");
    float acc[4][row_taps] = {};

    static __device__ __forceinline__ int lane() { return (int)(threadIdx.x % 32); }
    static __device__ __forceinline__ int warp() { return (int)(threadIdx.x / 32); }
    static __device__ __forceinline__ int ky() { return lane() % DG_THIN_K; }
    static __device__ __forceinline__ int co() { return lane() / DG_THIN_K * 4; }

    __device__ __forceinline__ void add(const float *patch, const float *grad)
    {
        const int row = warp() * DG_THIN_DW_RUN / DG_THIN_COLS, col = warp() * DG_THIN_DW_RUN % DG_THIN_COLS;
        const float *x = patch + (2 * row + ky()) * line + 2 * col * CI,
                    *y = grad + (row * DG_THIN_COLS + col) * DG_THIN_CHANNELS + co();
#pragma unroll 2
        for (int p = 0; p < DG_THIN_DW_RUN; p++) {
            const dg_pack<float, 4> g = dg_load<4>(y + p * DG_THIN_CHANNELS);
#pragma unroll
            for (int k = 0; k < row_taps; k += 2) {
                const dg_pack<float, 2> v = dg_load<2>(x + 2 * p * CI + k);
#pragma unroll
                for (int e = 0; e < 4; e++) {
                    acc[e][k] += g.v[e] * v.v[0];
                    acc[e][k + 1] += g.v[e] * v.v[1];
                }
            }
        }
    }
    /* Adds the warps' sums and stores the weight gradient (Co, 4, 4, CI). All threads of the block must call this
     * function. */
    __device__ __forceinline__ void finish(float *shared, float *out, int co0, int Co)
    {
        for (int half = DG_THIN_DW_WARPS / 2; half > 0; half /= 2) {
            __syncthreads();
            if (warp() >= half && warp() < 2 * half)
#pragma unroll
                for (int i = 0; i < 4 * row_taps; i++)
                    shared[(warp() - half) * sums + i * 32 + lane()] = acc[i / row_taps][i % row_taps];
            __syncthreads();
            if (warp() < half)
#pragma unroll
                for (int i = 0; i < 4 * row_taps; i++)
                    acc[i / row_taps][i % row_taps] += shared[warp() * sums + i * 32 + lane()];
        }
        if (warp() || co0 + co() >= Co) return;
        out += (int64_t)(co0 + co()) * DG_THIN_K * row_taps + ky() * row_taps;
#pragma unroll
        for (int e = 0; e < 4; e++)
#pragma unroll
            for (int k = 0; k < row_taps; k += 4)
                dg_store<4>(out + e * DG_THIN_K * row_taps + k,
                            dg_pack<float, 4>{{acc[e][k], acc[e][k + 1], acc[e][k + 2], acc[e][k + 3]}});
    }
};
