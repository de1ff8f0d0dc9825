/* Sums over the columns of a tensor, for batch norm and the gradient of a bias.
 *
 * A tensor has rows (pixels) and C columns (channels). Rows are divided into groups, and groups into chunks. A block
 * sums `lanes` adjacent packs of n channels over a chunk. Thread slot * lanes + lane adds rows slot, slot + slots, ...
 * of the chunk. So a warp reads contiguous memory. A thread adds runs of a few rows in type real, and adds the runs in
 * double. The order of additions depends only on the shape and the block size. */
#pragma once

#include "kernels/dev/cuda.cuh"
#include "core/tune/norm_chunks.h"

typedef struct {
    int C, groups;
    int64_t rows;
    int chunk, chunks; /* number of rows per chunk, and of chunks per group */
    int lanes, slots;
} columns;

static constexpr int MAX_BLOCK = 512, WARP = 32;
static constexpr int MERGE_WARPS = 4, MERGE_BLOCK = MERGE_WARPS * WARP;
static constexpr int RUN = 8; /* rows per run, summed without double, which is slow on most GPUs */

static inline columns columns_of(int N, int H, int W, int C, int groups, int n, int block)
{
    columns s = {};
    s.C = C;
    s.groups = groups;
    s.rows = (int64_t)(N / groups) * H * W;
    s.chunk = dg_norm_chunk_rows(s.rows);
    s.chunks = dg_norm_chunk_count(s.rows);
    s.lanes = 1;
    while (s.lanes < WARP && s.lanes * n < C) s.lanes *= 2;
    s.slots = block / s.lanes;
    return s;
}

static inline dim3 grid_of(const columns *s, int n)
{
    return dim3((unsigned)dg_div_up(s->C, s->lanes * n), (unsigned)s->chunks, (unsigned)s->groups);
}

/* c and row are this thread's first channel and row; `at` is the index of the first value. */
typedef struct {
    int lane, slot, c;
    int64_t row, end, at, step;
} place;

static __device__ __forceinline__ place place_of(const columns &s, int n)
{
    place p;
    p.lane = (int)threadIdx.x % s.lanes;
    p.slot = (int)threadIdx.x / s.lanes;
    p.c = ((int)blockIdx.x * s.lanes + p.lane) * n;
    const int64_t first = (int64_t)blockIdx.y * s.chunk, group = (int64_t)blockIdx.z * s.rows;
    p.end = first + s.chunk < s.rows ? first + s.chunk : s.rows;
    p.row = first + p.slot;
    p.at = (group + p.row) * s.C + p.c;
    p.step = (int64_t)s.slots * s.C;
    return p;
}

/* Adds m sums over this thread's rows to `all`. A call of `add(at, run)` adds the row at index `at` to the m sums
 * `run`. */
template <class real, int m, class F>
static __device__ __forceinline__ void sum_rows(double (&all)[m], const columns &s, const place &p, const F &add)
{
    int64_t at = p.at;
    for (int64_t r = p.row; r < p.end;) {
        real run[m] = {};
        for (int i = 0; i < RUN && r < p.end; i++, r += s.slots, at += p.step) add(at, run);
        for (int k = 0; k < m; k++) all[k] += (double)run[k];
    }
}

/* Adds the m sums of all slots by a tree. Slot 0 gets the results. `upper`: shared memory. */
template <int m>
static __device__ __forceinline__ void sum_slots(double (&sums)[m], const columns &s, const place &p,
                                                 double (*upper)[MAX_BLOCK / 2])
{
    DEV_CHECK(blockDim.x <= MAX_BLOCK);
    for (int half = s.slots / 2; half > 0; half /= 2) {
        const int lower = (int)threadIdx.x, from = lower - half * s.lanes;
        __syncthreads();
        if (p.slot >= half && p.slot < 2 * half)
            for (int k = 0; k < m; k++) upper[k][from] = sums[k];
        __syncthreads();
        if (p.slot < half)
            for (int k = 0; k < m; k++) sums[k] += upper[k][lower];
    }
}

static inline dim3 merge_grid(int C) { return dim3((unsigned)dg_div_up(C, MERGE_WARPS)); }
