/* Adds the parts of a split sum (tune.split). Blocks exchange the parts in scratch memory or in distributed shared
 * memory. */
#pragma once

#include "kernels/fused/fuse.cuh"

/* Returns the first chunk (16 channels) of part `part` of a split sum. `most` is the number of chunks in the largest
 * part. Equal parts need no division, which costs 24 instructions. */
static __device__ __forceinline__ int dg_fused_part(int chunks, int part, int split, int most)
{
    return most * split == chunks ? most * part : (int)((unsigned)(chunks * part) / (unsigned)split);
}

/* Stores this thread's sums, beginning at address `to`. The threads' sums are interleaved in units of 16 bytes. */
template <class G, class Sums> static __device__ __forceinline__ void dg_leave_sums(const Sums &sums, float *to)
{
#pragma unroll
    for (int k = 0; k < G::MI * G::NJ; k++) {
        const float(&c)[4] = sums.c[k / G::NJ][k % G::NJ];
        dg_store<4>(to + k * G::NT * 4, dg_pack<float, 4>{{c[0], c[1], c[2], c[3]}});
    }
}

/* With warpgroups, the blocks that compute the parts of a tile's sum form a cluster. Each block adds all parts for the
 * results of warps `first` to `last` - 1. */
struct dg_own_warps {
    int first, last;
    bool mine;

    /* The shuffle tells the compiler that `warp` is equal in all lanes, so later shuffles need no convergence. */
    template <class G> static __device__ __forceinline__ dg_own_warps of()
    {
        const int warps = G::NT / 32, z = (int)blockIdx.z, blocks = (int)gridDim.z;
        if (G::exchanged == 0 || blocks == 1) return {0, warps, true};
        const int first = (z * warps + blocks - 1) / blocks, last = ((z + 1) * warps + blocks - 1) / blocks,
                  warp = __shfl_sync(0xffffffffu, (int)threadIdx.x / 32, 0);
        return {first, last, first <= warp && warp < last};
    }
};

/* Adds the parts of a split sum in a cluster. All threads must call this function. `own` is dg_own_warps::mine. `room`
 * is shared memory for G::exchanged units, unused after the main loop. Each block starts with the block after its own,
 * so that the blocks of a cluster do not all load from one multiprocessor. */
template <class G, class Sums> static __device__ __forceinline__ void dg_cluster_join(Sums &sums, float *room, bool own)
{
    static constexpr int packs = G::MI * G::NJ;
    float *const mine = room + threadIdx.x * 4;
    if (!own) dg_leave_sums<G>(sums, mine);
    cluster_sync();
    if (own)
#pragma unroll 1
        for (int i = 1; i < (int)gridDim.z; i++) {
            const int next = (int)blockIdx.z + i, part = next < (int)gridDim.z ? next : next - (int)gridDim.z;
            const cluster_memory from(mine, part);
#pragma unroll
            for (int k = 0; k < packs; k++) {
                const float4 v = from.load(k * G::NT * 4);
                float(&c)[4] = sums.c[k / G::NJ][k % G::NJ];
                c[0] += v.x, c[1] += v.y, c[2] += v.z, c[3] += v.w;
            }
        }
    cluster_sync();
}

/* Without warpgroups, blocks store their parts of a split sum in scratch memory. The last block adds the parts in
 * order and returns true. With two parts, the last block adds the other part to its own part, because the order does
 * not matter. */
template <class G, class Sums>
static __device__ __forceinline__ bool dg_fused_join(Sums &sums, float *parts, unsigned *counters)
{
    static constexpr int packs = G::MI * G::NJ;
    const int split = (int)gridDim.z, tile = (int)(blockIdx.y * gridDim.x + blockIdx.x);
    float *const all = parts + ((int64_t)tile * split * packs * G::NT + threadIdx.x) * 4;
    float *const mine = all + (int64_t)blockIdx.z * packs * G::NT * 4;
    dg_leave_sums<G>(sums, mine);
    if (!dg_comes_last(counters + tile, (unsigned)split)) return false;
    const int from_part = split == 2 ? 1 - (int)blockIdx.z : 0, to_part = split == 2 ? from_part + 1 : split;
    if (split > 2) sums.clear();
#pragma unroll 1
    for (int part = from_part; part < to_part; part++) {
        const float *const from = all + (int64_t)part * packs * G::NT * 4;
#pragma unroll
        for (int k = 0; k < packs; k++) {
            const dg_pack<float, 4> v = dg_load<4>(from + k * G::NT * 4);
#pragma unroll
            for (int e = 0; e < 4; e++) sums.c[k / G::NJ][k % G::NJ][e] += v.v[e];
        }
    }
    return true;
}

/* Adds this block's partial sums of a column, of[k * apart]. */
template <class Job, class G>
static __device__ __forceinline__ float dg_own_sum(const float *of, int apart, dg_own_warps own)
{
    float sum = 0;
    if constexpr (G::exchanged == 0) {
        for (int k = 0; k < Job::shares; k++) sum += of[k * apart];
    } else {
#pragma unroll 1
        for (int k = own.first; k < own.last; k++) sum += of[k * apart];
    }
    return sum;
}
