/* Counting of non-finite weights, shared by the CUDA optimizers. */
#pragma once

#include "kernels/dev/cuda.cuh"

/* Maximum number of blocks, which fills any GPU. */
static constexpr int DG_SWEEP_BLOCKS = 2048;

/* All threads of a block must call this function at the end. Adds this thread's `broken` non-finite weights to a
 * counter. The last block stores the total as a metric and resets the counters to 0. */
template <class args> static __device__ __forceinline__ void dg_count_broken(const args &a, unsigned broken)
{
    SHARED(unsigned, bad_here, );
    if (threadIdx.x == 0) bad_here = 0;
    __syncthreads();
    if (broken) atomicAdd(&bad_here, broken);
    __syncthreads();
    if (threadIdx.x) return;
    unsigned *const blocks_done = a.counters, *const bad_weights = a.counters + 1;
    if (bad_here) atomicAdd(bad_weights, bad_here);
    __threadfence();
    if (atomicAdd(blocks_done, 1u) != gridDim.x - 1) return;
    __threadfence();
    a.ring[a.state->step % DG_RING].value[a.bad] = (double)atomicExch(bad_weights, 0u);
    atomicExch(blocks_done, 0u);
}

static inline dim3 dg_sweep_grid(int64_t count, int n, int block)
{
    const int64_t blocks = dg_div_up<int64_t>(count, (int64_t)n * block);
    return dim3((unsigned)(blocks > DG_SWEEP_BLOCKS ? DG_SWEEP_BLOCKS : blocks));
}
