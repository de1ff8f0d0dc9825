/* Convolutions of images on tensor cores: operands, and the forward pass. The products of a sum may be added in any
 * order. So lane (g, t) = (lane / 4, lane % 4) holds operands 4t .. 4t + 3 of row g of A, or of column g of B. The four
 * operands of a lane are contiguous in memory, unlike in the layout of mma.sync (tensor.cuh). */
#pragma once

#include "kernels/ops/conv/cuda/conv_thin_patch.cuh"
#include "kernels/dev/mma.cuh"

/* Four operands rounded to bf16. */
struct dg_quad {
    static constexpr int words = 2;
    uint32_t w[words];

    static __device__ __forceinline__ dg_quad of(const float (&v)[4])
    {
        return {{to_bf16x2(v[0], v[1]), to_bf16x2(v[2], v[3])}};
    }
    static __device__ __forceinline__ dg_quad load(const uint32_t *p)
    {
        const dg_pack<uint32_t, words> v = dg_load<words>(p);
        return {{v.v[0], v.v[1]}};
    }
    /* p is aligned to only half the size of a dg_quad. */
    static __device__ __forceinline__ dg_quad load_halves(const uint32_t *p) { return {{p[0], p[1]}}; }
    __device__ __forceinline__ void store(uint32_t *p) const
    {
        dg_store<words>(p, dg_pack<uint32_t, words>{{w[0], w[1]}});
    }
    /* Computes c += A B over 16 operands. `low` and `high` belong to rows g and g + 8 of A. */
    static __device__ __forceinline__ void multiply(float (&c)[4], const dg_quad &low, const dg_quad &high,
                                                    const dg_quad &b)
    {
        mma_bf16(c, {low.w[0], high.w[0], low.w[1], high.w[1]}, {b.w[0], b.w[1]});
    }
};

/* Forward pass, with the members of dg_thin_fwd. Lane (g, t) multiplies row t of the taps. The 4 * CI image values of
 * such a row are contiguous. So a patch stores each value once. Reads of the patch have no bank conflicts, because CI
 * is odd and the pitch of a row is 8 words (mod 32). B's columns are ordered so that each lane has two runs of four
 * contiguous channels. */
template <int CI_> struct dg_thin_mma_fwd {
    typedef dg_quad quad;
    static constexpr int CI = CI_, CHANNELS = 8, LANES = 4, NT = DG_THIN_ROWS * 32;
    static constexpr int line = DG_THIN_PATCH_COLS * CI;
    static constexpr int pitch = (line * quad::words / 4 + 23) / 32 * 32 + 8;
    static constexpr int patch_words = DG_THIN_PATCH_ROWS * pitch, weight_words = CI * 4 * 32 * quad::words;
    static constexpr int blocks = 5;
    static constexpr bool rounds = true; /* results may be stored as bf16 */
    static_assert(DG_THIN_COLS == 32 && DG_THIN_CHANNELS == 32 && CI % 2 == 1,
                  "a warp must have 32 pixels of a row and 32 channels; CI must be odd to avoid bank conflicts");
    float c[2][4][4];

    static __device__ __forceinline__ int lane() { return (int)(threadIdx.x % 4); }
    static __device__ __forceinline__ int row() { return (int)(threadIdx.x / 32); }
    static __device__ __forceinline__ int col(int p) { return 8 * p + (int)(threadIdx.x % 32 / 4); }
    static __device__ __forceinline__ int channel(int e) { return e / 4 * 16 + lane() * 4 + e % 4; }
    __device__ __forceinline__ float &at(int p, int e) { return c[p / 2][e / 2][p % 2 * 2 + e % 2]; }

    /* Stores values i .. i + 3 of a row of the patch; i is odd. Skips values before the row. Stores values after the
     * row in padding. */
    static __device__ __forceinline__ void put(float *patch, int row, int i, const float (&v)[4])
    {
        static_assert(pitch * 4 >= (dg_div_up(line - CI, 4) * 4 + CI) * quad::words, "rows have padding");
        const float order[4] = {v[1], v[2], v[0], v[3]};
        const quad q = quad::of(order);
        uint16_t *const to = reinterpret_cast<uint16_t *>(patch) + row * 2 * pitch + i;
        if (i > 0) to[0] = (uint16_t)q.w[1];
        if (i > 0 || CI == 3) *reinterpret_cast<uint32_t *>(to + 1) = q.w[0];
        to[3] = (uint16_t)(q.w[1] >> 16);
    }
    /* Weights are stored as [q][j][lane]. Lane (g, t) of product j has weights 4q .. 4q + 3 of row t of the taps, for
     * the channel in column g. */
    static constexpr bool there = dg_mma_bf16::there, early = true;
    template <bool EARLY>
    static __device__ __forceinline__ void load_weights(float *weight, const dg_conv_args &a, int co0)
    {
        static_assert(NT == 4 * DG_THIN_CHANNELS, "a block needs one thread per row and channel of its tile");
        const int co = (int)(threadIdx.x / 4), t = (int)(threadIdx.x % 4);
        const int j = co / 16 * 2 + co / 2 % 2, g = co % 16 / 4 * 2 + co % 2;
        const dg_pack<float, 4> *const from = reinterpret_cast<const dg_pack<float, 4> *>(
            (const float *)a.w + ((co0 + co) * 4 + t) * 4 * CI);
        uint32_t *const to = reinterpret_cast<uint32_t *>(weight) + (j * 32 + g * 4 + t) * quad::words;
#pragma unroll
        for (int q = 0; q < CI; q++) {
            dg_pack<float, 4> v = {};
            if (co0 + co < a.Co) v = EARLY ? grid_early_load(from + q) : from[q];
            quad::of(v.v).store(to + q * 4 * 32 * quad::words);
        }
    }
    __device__ __forceinline__ void add(const float *patch, const float *weight)
    {
        const int t = (int)(threadIdx.x % 4), g = (int)(threadIdx.x % 32 / 4);
        const uint32_t *const from = reinterpret_cast<const uint32_t *>(patch) + (2 * row() + t) * pitch +
                                     2 * g * CI * quad::words / 4;
        const uint32_t *const factors = reinterpret_cast<const uint32_t *>(weight) +
                                        (int)(threadIdx.x % 32) * quad::words;
#pragma unroll
        for (int i = 0; i < 32; i++) c[i / 16][i / 4 % 4][i % 4] = 0;
#pragma unroll
        for (int q = 0; q < CI; q++) {
            quad a[4];
#pragma unroll
            for (int p = 0; p < 4; p++) a[p] = quad::load_halves(from + (16 * p * CI + 4 * q) * quad::words / 4);
#pragma unroll
            for (int j = 0; j < 4; j++) {
                const quad b = quad::load(factors + (q * 4 + j) * 32 * quad::words);
#pragma unroll
                for (int m = 0; m < 2; m++) quad::multiply(c[m][j], a[2 * m], a[2 * m + 1], b);
            }
        }
    }
};
