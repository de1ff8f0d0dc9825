/* Weight gradient on tensor cores, with M = Co, N = 16 taps x 16 channels of x, K = positions of y. A step multiplies
 * one piece. A warp sums two taps; each tap reads the patch of x at its own offset. Operands are read by columns
 * (mma.cuh). In shared memory, y has layout [plane of Co][position]. Odd planes store position p at index p ^ 4, to
 * avoid bank conflicts. */
#pragma once

#include "kernels/ops/conv/cuda/conv_mma.cuh"

/* E: arithmetic (mma.cuh). SMALL: cells are 4x4, because y is at most 4 wide. */
template <class E_, bool SMALL> struct dg_dw_tile {
    typedef E_ E;
    static constexpr int M = 64, N = 16, NT = 256, MI = M / 16, NJ = 4;
    static constexpr int y_planes = M / E::unit, x_planes = N / E::unit;
    typedef dg_patch<SMALL, 1, x_planes, true> patch;
    typedef typename patch::piece piece;
    static constexpr int taps = 16, positions = 64, border = 1;
    static constexpr int x_units = patch::units, y_units = y_planes * positions;
    static constexpr int y_items = y_units / NT, values = patch::cells * patch::input * patch::input;
    static constexpr int x_items = dg_div_up(values * x_planes, NT);
    static constexpr size_t bytes = DG_MMA_DW_BYTES(SMALL);
    static_assert(NT == 8 * 32 && NT % (4 * y_planes) == 0 && NT % (4 * x_planes) == 0 && values % 4 == 0,
                  "each warp must sum two taps, and each thread must always copy the same plane of y and of x");

    static __device__ __forceinline__ int x_channel() { return dg_unit_plane<x_planes>((int)threadIdx.x) * E::unit; }
    static __device__ __forceinline__ int y_channel() { return dg_unit_plane<y_planes>((int)threadIdx.x) * E::unit; }
    static __device__ __forceinline__ constexpr int stride(const dg_conv_args &) { return 2; }

    /* The warp's two groups of 16 columns are `second` units apart in the patch. `row()` returns the warp's first
     * channel of y. */
    static constexpr int second = patch::phase;
    static __device__ __forceinline__ constexpr bool busy() { return true; }
    static __device__ __forceinline__ constexpr int row() { return 0; }
    static __device__ __forceinline__ int columns()
    {
        return patch::of_tap((int)(threadIdx.x / 64), (int)(threadIdx.x / 32 % 2) * 2);
    }
    static __device__ __forceinline__ int tap_of(int j) { return 2 * ((int)(threadIdx.x / 32)) + j / 2; }
    static __device__ __forceinline__ int channel_of(int j) { return j % 2 * 8; }
};

template <class G> struct dg_dw_products {
    typedef typename G::E E;
    typedef typename G::patch P;
    typedef typename P::piece piece;
    dg_sums<E, G::MI, G::NJ> sums;
    const uint4 *mine_a, *mine_b;

    __device__ __forceinline__ dg_dw_products(const uint4 *patch, const uint4 *grad)
    {
        mine_a = grad + (dg_columns_plane_of_a() + G::row() / E::unit) * G::positions +
                 (dg_column_of_a() ^ dg_columns_plane_of_a() * 4);
        mine_b = patch + dg_columns_plane_of_b() * P::plane + P::of_position(dg_column_of_b()) + G::columns();
        sums.clear();
    }

    /* Returns the place of this thread's value j of the patch, or -1 if there is no value j. Bits 0 to 4 are the row,
     * bits 5 to 9 the column, and bits from 10 on the cell. Bits from unit_bit on are the offset in units. */
    static constexpr int unit_bit = piece::cells > 4 ? 16 : 12;
    static __device__ __forceinline__ int spot(int j)
    {
        const int i = (int)threadIdx.x + j * G::NT, plane = dg_unit_plane<G::x_planes>(i),
                  value = dg_unit_position<G::x_planes>(i);
        const int number = value / (P::input * P::input), row = value % (P::input * P::input) / P::input,
                  col = value % P::input;
        return value < G::values
                   ? row | col << 5 | number << 10 | (plane * P::plane + P::at(number, row, col)) << unit_bit
                   : -1;
    }
    static __device__ __forceinline__ int position(int j)
    {
        return dg_unit_position<G::y_planes>((int)threadIdx.x + j * G::NT);
    }
    static __device__ __forceinline__ int unit_of_y(int j)
    {
        const int plane = dg_unit_plane<G::y_planes>((int)threadIdx.x);
        return plane * G::positions + (position(j) ^ plane % 2 * 4);
    }
    static __device__ __forceinline__ bool has_y(int j)
    {
        return (j + 1) * G::NT <= G::y_units || (int)threadIdx.x + j * G::NT < G::y_units;
    }

    __device__ __forceinline__ void multiply(int stage)
    {
        if (!G::busy()) return;
        const uint4 *const from_a = mine_a + stage * G::y_units, *const from_b = mine_b + stage * P::units;
#pragma unroll
        for (int k = 0; k < G::positions / E::k; k++) {
            uint32_t fa[G::MI][4], fb[2][4];
#pragma unroll
            for (int i = 0; i < G::MI; i++) ldsm_x4_trans(fa[i], from_a + i * 2 * G::positions + k * E::k);
#pragma unroll
            for (int t = 0; t < 2; t++) ldsm_x4_trans(fb[t], from_b + t * G::second + P::of_eight(k * E::k / 8));
            sums.add(fa, fb);
        }
    }

    __device__ __forceinline__ void finish() {}

    __device__ __forceinline__ void store(const dg_conv_args &a, float *out, int co0, int ci0, uint4 *)
    {
        if (E::scaled) sums.times(dg_power_of_two(-a.shift_x - a.shift_y));
        if (!G::busy()) return;
        const int lane = dg_warp_lane();
#pragma unroll
        for (int i = 0; i < 2 * G::MI; i++) {
            const int co = co0 + G::row() + i * 8 + lane / 4;
            if (co >= a.Co) continue;
#pragma unroll
            for (int j = 0; j < G::NJ; j++) {
                const int ci = ci0 + G::channel_of(j) + lane % 4 * 2;
                float *const w = out + (co * G::taps + G::tap_of(j)) * a.Ci + ci;
                if (ci < a.Ci)
                    dg_store<2>(w, dg_pack<float, 2>{{sums.c[i / 2][j][i % 2 * 2], sums.c[i / 2][j][i % 2 * 2 + 1]}});
            }
        }
    }
};
