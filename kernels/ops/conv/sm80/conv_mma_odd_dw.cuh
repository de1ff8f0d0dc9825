/* Tiles for the weight gradient of 3x3 (stride 1) and 1x1 kernels on tensor cores; conv_mma_dw.cuh has the products. If
 * K = 3, nine warps sum one tap each. Three more warps only load values, so that each thread holds fewer values. If K =
 * 1, a piece is consecutive positions, as in conv_mma_odd_job.cuh.
 * Tile: 64 channels of y x 9 taps x 32 channels of x (K = 3), or 128 x 128 channels (K = 1).
 * Shared memory: 35 KB (K = 3) or 68 KB (K = 1).
 * Bound by: L2 and shared memory. */
#pragma once

#include "kernels/ops/conv/cuda/conv_mma_dw_plain.cuh"
#include "kernels/ops/conv/sm80/conv_mma_odd_job.cuh"

template <int K> struct dg_odd_dw_tile {
    typedef dg_mma_bf16 E;
    static constexpr int M = DG_ODD_M(K, 1), N = DG_ODD_N(K, 1), NT = DG_ODD_THREADS(K, 1), MI = 4, NJ = 4;
    static constexpr int y_planes = M / E::unit, x_planes = N / E::unit;
    static constexpr int taps = K * K, positions = DG_ODD_PIECE, border = K / 2;
    typedef typename std::conditional<K == 1, dg_runs<positions, 1, x_planes>, dg_patch<true, 1, x_planes, false>>::type
        patch;
    typedef typename patch::piece piece;
    static constexpr int x_units = patch::units, y_units = y_planes * positions;
    static constexpr int values = patch::cells * patch::input * patch::input;
    static constexpr int y_items = dg_div_up(y_units, NT), x_items = dg_div_up(values * x_planes, NT);
    static constexpr size_t bytes = DG_ODD_DW_BYTES(K);
    static_assert(NT % (4 * y_planes) == 0 && NT % (4 * x_planes) == 0 && values % 4 == 0 && positions % E::k == 0,
                  "each thread must always copy the same plane of y and of x");

    static __device__ __forceinline__ int x_channel() { return dg_unit_plane<x_planes>((int)threadIdx.x) * E::unit; }
    static __device__ __forceinline__ int y_channel() { return dg_unit_plane<y_planes>((int)threadIdx.x) * E::unit; }
    static __device__ __forceinline__ int stride(const dg_conv_args &a) { return K == 1 ? a.S : 1; }

    static constexpr int second = 2 * patch::plane;
    static __device__ __forceinline__ int warp() { return (int)threadIdx.x / 32; }
    static __device__ __forceinline__ bool busy() { return K == 1 || warp() < taps; }
    static __device__ __forceinline__ int row() { return K == 1 ? warp() / 4 * 64 : 0; }
    static __device__ __forceinline__ int columns()
    {
        return K == 1 ? warp() % 4 * 4 * patch::plane : patch::of_tap(warp() / 3, warp() % 3);
    }
    static __device__ __forceinline__ int tap_of(int) { return K == 1 ? 0 : warp(); }
    static __device__ __forceinline__ int channel_of(int j) { return (K == 1 ? warp() % 4 * 32 : 0) + j * 8; }
};
