/* Data gradient on tensor cores, also the forward pass of transposed convolutions. Output (2a + py, 2b + px) of phase
 * (py, px) is the sum over dy, dx = 0, 1 and over co of
 *   y[a - 1 + py + dy, b - 1 + px + dx, co] * w[co, 3 - py - 2dy, 3 - px - 2dx].
 * The matrix product has M = positions of a phase, N = Ci, K = four taps x Co. A block computes all four phases of its
 * positions (a, b) from one patch of y. A warp computes 64 positions of one phase. A warpgroup computes all positions
 * of two phases. Weights are stored as [slot][plane of Ci][co], slot = (dy, dx, py, px). In variant mma, odd planes
 * store co at index co ^ 4 (mma.cuh).
 * Tiles: DG_MMA_DX_TILES, DG_WGMMA_DX_TILES (conv_tiles.h).
 * Stages: two chunks of 16 channels of y.
 * Shared memory: 23 to 53 KB, with warpgroups 41 to 95 KB, in clusters up to 128 KB.
 * Bound by: shared memory. */
#pragma once

#include "kernels/ops/conv/cuda/conv_mma.cuh"

/* A block computes M positions of each phase and N channels. A warp computes WN channels. See conv_tiles.h for SMALL
 * and GROUPS, and conv_mma.cuh for the prologue MAP. */
template <class E_, bool SMALL, int M, int N_, int WN_, int GROUPS, int MAP = DG_AS_IS> struct dg_dx_tile {
    typedef E_ E;
    static constexpr int N = N_, WN = WN_, PIECES = M / 64, across = N / WN;
    static constexpr int own = E::warps > 1 ? PIECES : 1, phases = E::warps > 1 ? 2 : 1;
    static constexpr int NT = 4 / phases * (PIECES / own) * across * E::warps * 32, groups = GROUPS, taps = 4 / GROUPS;
    static constexpr int chunk = 2 * E::unit, planes = N / E::unit, pitch = chunk + E::spacing;
    static constexpr int portion = 16 / GROUPS * planes * pitch, copied = 16 / GROUPS * 2 * N;
    static constexpr bool rounded = MAP != DG_AS_IS;
    static constexpr int stages = DG_MMA_STAGES(rounded, E::scaled, E::warps > 1 ? DG_WGMMA_STAGES(SMALL, false, M) : 2,
                                                portion * 16);
    static constexpr int blocks = NT == 128 ? 2 : 1;
    static constexpr int MI = own * phases * 4 / E::warps, NJ = WN / 8, slots = NT / (2 * N);
    static constexpr int exchanged = E::warps > 1 ? MI *NJ *NT : 0;
    typedef dg_patch<SMALL, PIECES, 2, false> patch;
    typedef dg_patch_loader<E, patch, NT, GROUPS, MAP> loader;
    static constexpr size_t bytes = DG_MMA_BYTES(SMALL, PIECES, false, planes *pitch / 2, GROUPS, NT);
    static_assert(copied % NT == 0 && NT % (2 * N) == 0,
                  "each thread must copy equally much, and the same channels of each of its taps");
    static_assert((slots & (slots - 1)) == 0 && 4 % GROUPS == 0,
                  "NT / (2 * N) must be a power of two, and GROUPS must be 1, 2 or 4");
};

/* Returns the distance, in taps, from the tap of weight slot `slot` to tap (3, 3). */
static __device__ __forceinline__ constexpr int dg_taps_back(int slot)
{
    return (slot & 1) + (slot >> 1 & 1) * 4 + (slot >> 2 & 1) * 2 + (slot >> 3 & 1) * 8;
}

template <class G> struct dg_dx_job : dg_weights<dg_dx_job<G>, G> {
    typedef dg_weights<dg_dx_job<G>, G> W;
    typedef typename G::E E;
    typedef typename G::patch P;
    static constexpr int groups = G::groups;

    /* `step` is the number of results per position along each axis. */
    static constexpr int step = 2;
    static __device__ __forceinline__ dg_maps from_maps(const dg_conv_args &a) { return {a.Ho, a.Wo, a.Co}; }
    static __host__ __device__ __forceinline__ dg_maps to_maps(const dg_conv_args &a) { return {a.H, a.W, a.Ci}; }
    static __device__ __forceinline__ int shift(const dg_conv_args &a) { return a.shift_y; }

    const int first_chunk, Ci;
    typename G::loader loader;
    dg_sums<E, G::MI, G::NJ> sums;
    int half = 0;
    uint4 *patch, *weights;
    unsigned from;
    typename E::template place_of_a<P> mine_a;
    typename E::place_of_b mine_b;

    __device__ __forceinline__ dg_dx_job(const dg_conv_args &a, const void *w, int ci0, int first,
                                         const dg_transfer *place, uint4 *p, uint4 *units)
        : first_chunk(first), Ci(a.Ci), loader((const float *)a.y, place)
    {
        const int phase = first_phase(), piece = first_piece(), n = column();
        const uint4 *a_unit = p + P::of_piece(piece) + P::of_tap(phase / 2, phase % 2),
                    *b_unit = units + (phase * G::planes + n / E::unit) * G::pitch;
        if (E::warps == 1)
            b_unit += dg_columns_plane_of_b() * G::chunk + (dg_column_of_b() ^ dg_columns_plane_of_b() * 4);
        if (E::warps == 1 || P::small)
            a_unit += dg_settled(dg_plane_of_a() * P::plane + P::of_position(share() % E::warps * 16 + dg_row_of_a()));
        mine_a = E::template a_at<P>(a_unit);
        mine_b = E::b_at(b_unit, 8, G::pitch);
        const int i = (int)(threadIdx.x % (2 * G::N)), plane = dg_unit_plane<G::planes>(i),
                  k = dg_unit_position<G::planes>(i);
        /* channels past the last are clamped; their results are not stored */
        const int slot = (int)(threadIdx.x / (2 * G::N)), ci = min(ci0 + plane * E::unit, a.Ci - E::unit);
        patch = p + dg_settled((int)(threadIdx.x % 2) * P::plane);
        weights = units + dg_settled((slot * G::planes + plane) * G::pitch + (k ^ plane % 2 * E::swap));
        W::w = w;
        from = (unsigned)dg_settled(((first * G::chunk + k) * 16 + 15 - dg_taps_back(slot)) * Ci + ci);
    }

    __device__ __forceinline__ uint4 *weight(int stage, int j) const
    {
        return weights + stage * G::portion + j * G::slots * G::planes * G::pitch;
    }
    __device__ __forceinline__ unsigned unit(int chunk, int) const
    {
        return from + (unsigned)(chunk * G::chunk * 16 * Ci);
    }
    static __device__ __forceinline__ int tap(int g, int j) { return -dg_taps_back(g * (16 / groups) + j * G::slots); }

    __device__ __forceinline__ void first(int chunks)
    {
        typename G::loader other = loader;
        if (!W::early) W::template first_weights<false>(chunks);
        W::fetch_weights(0, 0);
#pragma unroll
        for (int g = 0; g < groups; g += 2) {
            loader.fetch(g, first_chunk);
            if (groups > 1) other.fetch(g + 1, first_chunk);
            if (g == 0) W::store_weights(0, 0);
            loader.put(patch, g, 0);
            if (groups > 1) other.put(patch, g + 1, 0);
        }
        sums.clear();
    }
    __device__ __forceinline__ void fetch(int chunk, int g, bool more)
    {
        if (g + 1 < groups) W::fetch_weights(chunk, g + 1);
        else if (more) W::fetch_weights(chunk + 1, 0);
        if (more) loader.fetch(g, first_chunk + chunk + 1);
    }
    __device__ __forceinline__ void store(int chunk, int g, bool more)
    {
        if (g + 1 < groups) W::store_weights(chunk, g + 1);
        else if (more) W::store_weights(chunk + 1, 0);
        if (g == 0) half = P::units - half, loader.next_chunk();
        if (more) loader.put(patch + half, g, chunk + 1);
    }
    __device__ __forceinline__ void multiply(int chunk, int g)
    {
        const int moved_a = chunk % 2 * P::units, moved_b = W::stage_of(chunk, g) * G::portion;
        if constexpr (E::warps > 1) {
            E::template products<P, true, G::taps>(
                sums.c, mine_a, moved_a, mine_b, moved_b,
                [=](int t, int q) {
                    return P::of_piece(q % G::own) +
                           P::of_tap((g * G::taps + t) / 2, (g * G::taps + t) % 2 + q / G::own);
                },
                [](int t, int q) { return (4 * t + q / G::own) * G::planes * G::pitch; });
        } else {
            const uint4 *const from_a = mine_a + moved_a, *const from_b = mine_b + moved_b;
#pragma unroll
            for (int t = 0; t < G::taps; t++) {
                const int d = g * G::taps + t;
                uint32_t fa[G::MI][4], fb[G::NJ / 2][4];
#pragma unroll
                for (int i = 0; i < G::MI; i++) ldsm_x4(fa[i], from_a + P::of_tap(d / 2, d % 2) + P::of_eight(2 * i));
#pragma unroll
                for (int j = 0; j < G::NJ / 2; j++) ldsm_x4_trans(fb[j], from_b + t * 4 * 2 * G::N + j * 2 * G::chunk);
                sums.add(fa, fb);
            }
        }
    }

    /* column(), share() and result() are as in dg_fwd_job. */
    static constexpr int around = 4 / G::phases, shares = around * (G::PIECES / G::own) * E::warps,
                         rows_of_share = 64 / E::warps;
    static __device__ __forceinline__ int column()
    {
        return (int)(threadIdx.x / (32 * around * E::warps) % G::across) * G::WN;
    }
    static __device__ __forceinline__ int share()
    {
        return (int)(threadIdx.x / (32 * around * E::warps) / G::across) * around * E::warps +
               (int)(threadIdx.x / 32 % (around * E::warps));
    }
    static __device__ __forceinline__ int first_phase() { return share() / E::warps % around * G::phases; }
    static __device__ __forceinline__ int first_piece() { return share() / E::warps / around * G::own; }
    static __device__ __forceinline__ int result(const dg_conv_args &a, const dg_cell *cell, int i)
    {
        typedef typename P::piece piece;
        const int p = share() % E::warps * rows_of_share + i * 8 % rows_of_share + (int)(threadIdx.x % 32 / 4),
                  q = i * 8 / rows_of_share, number = first_piece() + q % G::own, py = first_phase() / 2,
                  px = first_phase() % 2 + q / G::own;
        const dg_cell at = cell[number * piece::cells + piece::cell(p)];
        const int row = 2 * (at.row + piece::row(p)) + py, col = 2 * (at.col + piece::col(p));
        const int first = ((at.image * a.H + row) * a.W + col) * a.Ci;
        return at.image >= a.N || row >= a.H || col + px >= a.W ? -1 : first + px * a.Ci;
    }
};
