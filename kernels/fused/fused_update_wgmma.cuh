/* A weight gradient's tile on Hopper's warpgroups (wgmma.cuh), for fused updates. The counterparts for warps are
 * dg_dw_tile and dg_dw_products (conv_mma_dw.cuh). The matrix product has M = Co, N = 4 phases x 16 channels of x, and
 * K = positions of y. A phase has every second row and column of x. A piece has 64 positions of y. Each of the two
 * warpgroups multiplies half of a piece. At the end, the sums of both warpgroups are added.
 *
 * In shared memory, x is stored as [phase][plane of channels][line of positions]. All 4 x 2 planes are therefore
 * equally spaced, as wgmma requires. For the four shifts (ky / 2, kx / 2), only the start address of x differs. Eight
 * consecutive positions are a row of an 8x8 cell, or a row of two adjacent 4x4 cells. The operand y is loaded into
 * registers once for all shifts.
 * Tile: 64 channels of y x 16 taps x 16 channels of x.
 * Shared memory: 76 KB in four stages, small maps 84 KB.
 * Registers: 128 per thread for sums.
 * Bound by: L2 and tensor cores */
#pragma once

#include "kernels/ops/conv/cuda/conv_mma.cuh"

/* A piece of 64 positions of y is one 8x8 cell, or two pairs of adjacent 4x4 cells. */
template <bool SMALL> struct dg_dw_wgmma_piece {
    static constexpr int side = SMALL ? 4 : 8, cells = SMALL ? 4 : 1, pairs = SMALL ? 2 : 1;
    static __device__ __forceinline__ int cell(int p) { return SMALL ? (p >> 5 & 1) * 2 + (p & 1) : 0; }
    static __device__ __forceinline__ int row(int p) { return SMALL ? p >> 3 & 3 : p >> 3; }
    static __device__ __forceinline__ int col(int p) { return SMALL ? p >> 1 & 3 : p & 7; }
};

template <class E_, bool SMALL> struct dg_dw_wgmma_tile {
    typedef E_ E;
    typedef dg_dw_wgmma_piece<SMALL> piece;
    static constexpr int M = 64, N = 16, NT = 256, groups = NT / 128, y_planes = M / E::unit, x_planes = N / E::unit;
    static constexpr int input = 2 * piece::side + 2, line = SMALL ? 10 : 9, lines = input / 2;
    static constexpr int plane = DG_WGMMA_DW_PLANE(SMALL), pitch = DG_WGMMA_DW_PITCH;
    static constexpr int values = piece::cells * input * input;
    static constexpr int x_items = dg_div_up(values * x_planes, NT), y_items = y_planes * 64 / NT;
    static constexpr int x_units = 4 * x_planes * plane, y_units = y_planes * pitch;
    static_assert(plane >= piece::pairs * lines * line && plane % 8 == 4 && pitch % 8 == 4,
                  "4 positions in each of 2 planes must be in different shared memory banks");
    static_assert(E::warps == 4 && x_planes == 2 && NT % (4 * y_planes) == 0,
                  "each thread must always copy the same plane of x and the same plane of y");

    static __device__ __forceinline__ int x_channel() { return (int)(threadIdx.x % 2) * E::unit; }
    static __device__ __forceinline__ int y_channel() { return dg_unit_plane<y_planes>((int)threadIdx.x) * E::unit; }
};

template <class G> struct dg_dw_wgmma_products {
    typedef typename G::E E;
    typedef typename G::piece piece;
    static constexpr int small = piece::pairs == 2, shifts = 4, blocks = 4 * G::x_planes, steps = 64 / E::k / G::groups;
    struct {
        float c[1][shifts][blocks][4];
    } sums;
    const uint4 *mine_a, *mine_b;

    static __device__ __forceinline__ int group() { return (int)(threadIdx.x / 128); }

    __device__ __forceinline__ dg_dw_wgmma_products(const uint4 *patch, const uint4 *grad)
    {
        const int warp = (int)(threadIdx.x / 32 % 4);
        mine_a = grad + (warp * 2 + dg_columns_plane_of_a()) * G::pitch + dg_column_of_a() + group() * steps * E::k;
        mine_b = patch + group() * (small ? G::lines * G::line : 4 * G::line);
#pragma unroll
        for (int i = 0; i < shifts * blocks * 4; i++) sums.c[0][i / 4 / blocks][i / 4 % blocks][i % 4] = 0;
    }

    /* Like dg_dw_products::spot, but adjacent threads write adjacent units of shared memory. */
    static __device__ __forceinline__ int spot(int j)
    {
        const int plane = (int)(threadIdx.x % 2), value = (int)(threadIdx.x / 2) + j * G::NT / 2, at = value % G::line,
                  px = value / G::line % 2, row = value / (2 * G::line) % G::input,
                  pair = value / (2 * G::line * G::input);
        const int col = 2 * (small ? at / 2 : at) + px, cell = small ? pair * 2 + at % 2 : 0;
        const int unit = ((row % 2 * 2 + px) * G::x_planes + plane) * G::plane + (pair * G::lines + row / 2) * G::line +
                         at;
        return value < G::values ? row | col << 5 | cell << 10 | unit << 12 : -1;
    }
    static __device__ __forceinline__ int position(int j)
    {
        return dg_unit_position<G::y_planes>((int)threadIdx.x + j * G::NT);
    }
    static __device__ __forceinline__ int unit_of_y(int j)
    {
        return dg_unit_plane<G::y_planes>((int)threadIdx.x) * G::pitch + position(j);
    }

    __device__ __forceinline__ void multiply(int stage)
    {
        uint32_t fa[steps][4];
#pragma unroll
        for (int k = 0; k < steps; k++) ldsm_x4_trans(fa[k], mine_a + stage * G::y_units + k * E::k);
        E::products_of_columns(sums.c[0], fa, E::b_at(mine_b + stage * G::x_units, G::line, G::plane),
                               [](int k, int s) { return (2 * k + s / 2) * G::line + s % 2 * (small ? 2 : 1); });
    }
    __device__ __forceinline__ void finish() { wgmma_wait(sums.c[0]); }

    /* Adds both warpgroups' sums for shifts FIRST and FIRST + 1, and stores the results in `out` (Co, 16, Ci). */
    template <int FIRST>
    __device__ __forceinline__ void leave(const dg_conv_args &a, const float *other, float *out, int co0, int ci0) const
    {
        const int lane = dg_warp_lane(), co = co0 + (int)(threadIdx.x / 32 % 4) * 16 + lane / 4,
                  ci = ci0 + lane % 4 * 2;
        float *const mine = out + co * 16 * a.Ci + ci;
#pragma unroll
        for (int s = FIRST; s < FIRST + 2; s++)
#pragma unroll
            for (int n = 0; n < blocks; n++) {
                const int phase = n / G::x_planes, plane = n % G::x_planes * 8;
                const int tap = (s / 2 * 2 + phase / 2) * 4 + s % 2 * 2 + phase % 2;
                const dg_pack<float, 4> beside = dg_load<4>(other + ((s - FIRST) * blocks + n) * 128 * 4);
#pragma unroll
                for (int h = 0; h < 2; h++) {
                    const float(&c)[4] = sums.c[0][s][n];
                    const dg_pack<float, 2> sum = {{c[2 * h] + beside.v[2 * h], c[2 * h + 1] + beside.v[2 * h + 1]}};
                    if (co + h * 8 < a.Co && ci + plane < a.Ci)
                        dg_store<2>(mine + ((h * 8 * 16 + tap) * a.Ci + plane), sum);
                }
            }
    }
    template <int FIRST> __device__ __forceinline__ void give(float *to) const
    {
#pragma unroll
        for (int s = FIRST; s < FIRST + 2; s++)
#pragma unroll
            for (int n = 0; n < blocks; n++) {
                const float(&c)[4] = sums.c[0][s][n];
                dg_store<4>(to + ((s - FIRST) * blocks + n) * 128 * 4, dg_pack<float, 4>{{c[0], c[1], c[2], c[3]}});
            }
    }

    /* All threads of the block must call this function. Each warpgroup adds both warpgroups' sums for two of the four
     * shifts and stores them. `room` is the shared memory of the pipeline stages, which is unused after the main
     * loop. */
    __device__ __forceinline__ void store(const dg_conv_args &a, float *out, int co0, int ci0, uint4 *room) const
    {
        static constexpr int half = 2 * blocks * 128 * 4;
        static_assert(2 * half * sizeof(float) <= DG_WGMMA_DW_BYTES(small, 4),
                      "the exchanged sums must fit into the shared memory of the stages");
        float *const given = reinterpret_cast<float *>(room) + (int)(threadIdx.x % 128 * 4);
        __syncthreads();
        if (group() == 0) give<2>(given + half);
        else give<0>(given);
        __syncthreads();
        if (group() == 0) leave<0>(a, given, out, co0, ci0);
        else leave<2>(a, given + half, out, co0, ci0);
    }
};
