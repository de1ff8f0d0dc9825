/* Forward convolution of images. Thread tile: 4 adjacent pixels x 8 channels. */
#pragma once

#include "kernels/ops/conv/cuda/conv_thin_patch.cuh"

template <int CI_> struct dg_thin_fwd {
    static constexpr int CI = CI_;
    static constexpr int CHANNELS = 8, LANES = DG_THIN_CHANNELS / CHANNELS,
                         NT = DG_THIN_ROWS * DG_THIN_COLS / 4 * LANES;
    /* gap: words from the weights of one tap to the next; 32 words would cause bank conflicts */
    static constexpr int line = DG_THIN_PATCH_COLS * CI, taps = DG_THIN_K * DG_THIN_K * CI, gap = DG_THIN_CHANNELS + 4;
    static constexpr int patch_words = DG_THIN_PATCH_ROWS * line, weight_words = taps * gap;
    static constexpr int blocks = CI == 1 ? 5 : 4;
    static constexpr bool rounds = false;
    float acc[4][CHANNELS] = {};

    static __device__ __forceinline__ int lane() { return (int)(threadIdx.x % LANES); }
    static __device__ __forceinline__ int row() { return (int)(threadIdx.x / LANES / (DG_THIN_COLS / 4)); }
    static __device__ __forceinline__ int col(int p) { return (int)(threadIdx.x / LANES % (DG_THIN_COLS / 4)) * 4 + p; }
    static __device__ __forceinline__ int channel(int e) { return lane() * CHANNELS + e; }
    __device__ __forceinline__ float &at(int p, int e) { return acc[p][e]; }

    /* Stores values i .. i + 3 of a row of the patch; i is odd. Skips values outside of the row. */
    static __device__ __forceinline__ void put(float *patch, int row, int i, const float (&v)[4])
    {
#pragma unroll
        for (int e = 0; e < 4; e++)
            if ((unsigned)(i + e) < (unsigned)line) patch[row * line + i + e] = v[e];
    }
    static constexpr bool there = true, early = false; /* early: weights may be loaded before grid_dependency_wait() */
    template <bool> static __device__ __forceinline__ void load_weights(float *weight, const dg_conv_args &a, int co0)
    {
        for (int i = (int)threadIdx.x; i < taps * DG_THIN_CHANNELS; i += NT) {
            const int co = i / taps, k = i % taps;
            weight[k * gap + co] = co0 + co < a.Co ? ((const float *)a.w)[(co0 + co) * taps + k] : 0.0f;
        }
    }
    __device__ __forceinline__ void add(const float *patch, const float *weight)
    {
#pragma unroll
        for (int ky = 0; ky < DG_THIN_K; ky++) {
            float v[10 * CI];
#pragma unroll
            for (int i = 0; i < 10 * CI; i++) v[i] = patch[(2 * row() + ky) * line + 2 * col(0) * CI + i];
#pragma unroll
            for (int k = 0; k < DG_THIN_K * CI; k++) {
                const float *w = weight + (ky * DG_THIN_K * CI + k) * gap + lane() * CHANNELS;
                const dg_pack<float, 4> lo = dg_load<4>(w), hi = dg_load<4>(w + 4);
#pragma unroll
                for (int p = 0; p < 4; p++)
#pragma unroll
                    for (int e = 0; e < 4; e++) {
                        acc[p][e] += v[2 * p * CI + k] * lo.v[e];
                        acc[p][e + 4] += v[2 * p * CI + k] * hi.v[e];
                    }
            }
        }
    }
};
