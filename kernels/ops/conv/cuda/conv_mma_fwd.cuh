/* Forward pass on tensor cores, with M = positions of y, N = Co, K = 16 taps x Ci. A patch is stored by phases
 * (conv_mma.cuh); each tap reads the patch at its own offset. Weights are stored as [tap][plane of Ci][co]. In variant
 * mma, odd planes store co at index co ^ 4 (mma.cuh).
 * Tiles: DG_MMA_FWD_TILES, DG_FP16_FWD_TILES, DG_WGMMA_FWD_TILES (conv_tiles.h).
 * Stages: two chunks of 16 channels.
 * Shared memory: 48 to 96 KB, with warpgroups 81 to 132 KB.
 * Bound by: shared memory. */
#pragma once

#include "kernels/ops/conv/cuda/conv_mma.cuh"

/* A block computes M positions and N channels. A warp computes WN channels. See conv_tiles.h for SMALL and GROUPS, and
 * conv_mma.cuh for the prologue MAP. */
template <class E_, bool SMALL, int M, int N_, int WN, int GROUPS, int MAP = DG_AS_IS> struct dg_fwd_tile {
    typedef E_ E;
    static constexpr int N = N_, PIECES = M / 64, across = N / WN, NT = PIECES * across * E::warps * 32,
                         groups = GROUPS, taps = 16 / GROUPS;
    static constexpr int chunk = 2 * E::unit, pitch = N + E::spacing;
    static constexpr int portion = taps * 2 * pitch, copied = taps * 2 * N;
    static constexpr bool rounded = MAP != DG_AS_IS;
    static constexpr int stages = DG_MMA_STAGES(rounded, E::scaled, E::warps > 1 ? DG_WGMMA_STAGES(SMALL, true, M) : 2,
                                                portion * 16);
    static constexpr bool few = E::warps > 1 && NT == 256 && N == 64 && !SMALL && MAP >= DG_ROUNDED;
    static constexpr int blocks = NT == 128 || few ? 2 : 1;
    static constexpr int MI = 4 / E::warps, NJ = WN / 8;
    static constexpr int exchanged = E::warps > 1 ? MI *NJ *NT : 0;
    typedef dg_patch<SMALL, PIECES, 2, true> patch;
    typedef dg_patch_loader<E, patch, NT, GROUPS, MAP> loader;
    static constexpr size_t bytes = DG_MMA_BYTES(SMALL, PIECES, true, pitch, GROUPS, NT);
    static constexpr int rows = NT < 2 * N ? 2 * N / NT : 1, steps = NT < 2 * N ? 1 : NT / (2 * N);
    static_assert(copied % NT == 0 && (2 * N % NT == 0 || NT % (2 * N) == 0),
                  "each thread must copy equally many weights");
    static_assert(N % 8 == 0 && WN % 16 == 0, "N must be a multiple of 8 channels, and WN a multiple of 16 channels");
};

template <class G> struct dg_fwd_job : dg_weights<dg_fwd_job<G>, G> {
    typedef dg_weights<dg_fwd_job<G>, G> W;
    typedef typename G::E E;
    static constexpr int groups = G::groups;

    /* `step` is the number of results per position along each axis. */
    static constexpr int step = 1;
    static __device__ __forceinline__ dg_maps from_maps(const dg_conv_args &a) { return {a.H, a.W, a.Ci}; }
    static __host__ __device__ __forceinline__ dg_maps to_maps(const dg_conv_args &a) { return {a.Ho, a.Wo, a.Co}; }
    static __device__ __forceinline__ int shift(const dg_conv_args &a) { return a.shift_x; }

    const int first_chunk, Ci;
    typename G::loader loader;
    dg_sums<E, G::MI, G::NJ> sums;
    int half = 0;
    uint4 *patch, *weights;
    unsigned from[G::rows];
    typename E::template place_of_a<typename G::patch> mine_a;
    typename E::place_of_b mine_b;

    __device__ __forceinline__ dg_fwd_job(const dg_conv_args &a, const void *w, int co0, int first,
                                          const dg_transfer *place, uint4 *p, uint4 *units)
        : first_chunk(first), Ci(a.Ci), loader((const float *)a.x, place)
    {
        typedef typename G::patch P;
        const int n = column();
        const uint4 *a_unit = p + P::of_piece(share() / E::warps), *b_unit = units + n;
        if (E::warps == 1) b_unit += dg_plane_of_b() * G::N + (dg_row_of_b() ^ dg_plane_of_b() * 4);
        if (E::warps == 1 || P::small)
            a_unit += dg_settled(dg_plane_of_a() * P::plane + P::of_position(share() % E::warps * 16 + dg_row_of_a()));
        mine_a = E::template a_at<P>(a_unit);
        mine_b = E::b_at(b_unit, G::pitch, 8);
        const int plane = (int)(threadIdx.x % 2), row = (int)(threadIdx.x % (2 * G::N) / 2),
                  tap = (int)(threadIdx.x / (2 * G::N));
        patch = p + dg_settled(plane * P::plane);
        weights = units + dg_settled((tap * 2 + plane) * G::pitch + (row ^ plane * E::swap));
        W::w = w;
#pragma unroll
        for (int r = 0; r < G::rows; r++) {
            const int co = min(co0 + row + r * G::NT / 2, a.Co - 1);
            from[r] = (unsigned)dg_settled((co * 16 + tap) * Ci + plane * E::unit);
        }
    }

    __device__ __forceinline__ uint4 *weight(int stage, int j) const
    {
        return weights + stage * G::portion + j % G::rows * (G::NT / 2) + j / G::rows * (G::steps * 2 * G::pitch);
    }
    __device__ __forceinline__ unsigned unit(int chunk, int j) const
    {
        return from[j % G::rows] + (unsigned)((first_chunk + chunk) * G::chunk);
    }
    static __device__ __forceinline__ int tap(int g, int j) { return g * G::taps + j / G::rows * G::steps; }

    __device__ __forceinline__ void first(int chunks)
    {
        if (!W::early) W::template first_weights<false>(chunks);
        W::fetch_weights(0, 0);
#pragma unroll
        for (int g = 0; g < groups; g += 2) {
            typename G::loader other = loader;
            loader.fetch(g, first_chunk);
            other.fetch(g + 1, first_chunk);
            if (g == 0) W::store_weights(0, 0);
            loader.put(patch, g, 0);
            other.put(patch, g + 1, 0);
        }
        sums.clear();
    }
    __device__ __forceinline__ void fetch(int chunk, int g, bool more)
    {
        if (g + 1 < groups || more) W::fetch_weights(g + 1 < groups ? chunk : chunk + 1, (g + 1) % groups);
        if (more) loader.fetch(g, first_chunk + chunk + 1);
    }
    __device__ __forceinline__ void store(int chunk, int g, bool more)
    {
        if (g + 1 < groups || more) W::store_weights(g + 1 < groups ? chunk : chunk + 1, (g + 1) % groups);
        if (g == 0) half = G::patch::units - half, loader.next_chunk();
        if (more) loader.put(patch + half, g, chunk + 1);
    }
    __device__ __forceinline__ void multiply(int chunk, int g)
    {
        typedef typename G::patch P;
        const int moved_a = chunk % 2 * P::units, moved_b = W::stage_of(chunk, g) * G::portion;
        if constexpr (E::warps > 1) {
            E::template products<P, false, G::taps>(
                sums.c, mine_a, moved_a, mine_b, moved_b,
                [=](int t, int) { return P::of_tap((g * G::taps + t) / 4, (g * G::taps + t) % 4); },
                [](int t, int) { return t * 2 * G::pitch; });
        } else {
            const uint4 *const from_a = mine_a + moved_a, *const from_b = mine_b + moved_b;
#pragma unroll
            for (int t = 0; t < G::taps; t++) {
                const int tap = g * G::taps + t;
                uint32_t fa[G::MI][4], fb[G::NJ / 2][4];
#pragma unroll
                for (int i = 0; i < G::MI; i++)
                    ldsm_x4(fa[i], from_a + P::of_tap(tap / 4, tap % 4) + P::of_eight(2 * i));
#pragma unroll
                for (int j = 0; j < G::NJ / 2; j++) ldsm_x4(fb[j], from_b + t * 2 * G::N + j * 16);
                sums.add(fa, fb);
            }
        }
    }

    /* `column()` returns the first column of the warp's results in the tile. `share()` returns the warp's index among
     * the `shares` warps with the same columns. `result()` returns the tensor offset of row i * 8 + lane / 4 of the
     * warp's results, or -1 if this row is outside of the map. */
    static constexpr int shares = G::PIECES * E::warps, rows_of_share = 64 / E::warps;
    static __device__ __forceinline__ int column()
    {
        return (int)(threadIdx.x / (32 * E::warps) % G::across) * (G::N / G::across);
    }
    static __device__ __forceinline__ int share()
    {
        return (int)(threadIdx.x / (32 * E::warps) / G::across) * E::warps + (int)(threadIdx.x / 32 % E::warps);
    }
    static __device__ __forceinline__ int result(const dg_conv_args &a, const dg_cell *cell, int i)
    {
        typedef typename G::patch::piece piece;
        const int p = share() % E::warps * rows_of_share + i * 8 + (int)(threadIdx.x % 32 / 4);
        const dg_cell at = cell[share() / E::warps * piece::cells + piece::cell(p)];
        const int row = at.row + piece::row(p), col = at.col + piece::col(p);
        return at.image >= a.N || row >= a.Ho || col >= a.Wo ? -1 : ((at.image * a.Ho + row) * a.Wo + col) * a.Co;
    }
};
