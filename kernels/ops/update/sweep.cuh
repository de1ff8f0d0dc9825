/* What the sweeps of optimisers share: the count of weights that are not finite. */
#ifndef DG_SWEEP_CUH
#define DG_SWEEP_CUH

#include "kernels/dev/cuda.cuh"

/* Enough blocks to fill any GPU; more of them would only repeat what each begins with. */
static constexpr int DG_SWEEP_BLOCKS = 2048;

/* Whole block, when it has no more to do; args: of the op. broken: of the weights of this thread. Counted are blocks
 * that are done and weights that are not finite, integers, whose order does not matter; the last block writes the
 * metric and leaves zeros. */
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

/* Blocks for a sweep over `count` weights, n a thread. */
static inline dim3 dg_sweep_grid(int64_t count, int n, int block)
{
    const int64_t blocks = dg_div_up<int64_t>(count, (int64_t)n * block);
    return dim3((unsigned)(blocks > DG_SWEEP_BLOCKS ? DG_SWEEP_BLOCKS : blocks));
}

#endif
