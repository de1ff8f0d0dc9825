/* Kernels of unfused forward passes and data gradients on tensor cores. Template parameter Job is dg_fwd_job or
 * dg_dx_job, and G is the tile of the job.
 * Tile and shared memory: see conv_mma_fwd.cuh and conv_mma_dx.cuh.
 * Bound by: shared memory (docs/cuda.md). */
#pragma once

#include "kernels/ops/conv/cuda/conv_mma_instance.cuh"

template <class Job, class G>
static __device__ __forceinline__ void dg_conv_block(const dg_conv_args &a, float *out, int split)
{
    DEV_CHECK(blockDim.x == G::NT);
    typedef typename G::patch P;
    typedef typename P::piece piece;
    dev_pool pool;
    uint4 *const patch = pool.take<uint4>(2 * P::units), *const weights = pool.take<uint4>(G::stages * G::portion);
    dg_cell *const cell = pool.take<dg_cell>(P::cells);
    dg_transfer *const place = pool.take<dg_transfer>(G::loader::transfers);
    const dg_maps from = Job::from_maps(a), to = Job::to_maps(a);
    const int part = (int)blockIdx.z, n0 = (int)blockIdx.y * G::N, chunks = from.channels / G::chunk;
    const int first = (int)((int64_t)chunks * part / split), last = (int)((int64_t)chunks * (part + 1) / split);
    if (threadIdx.x < P::cells)
        cell[threadIdx.x] = dg_cell_of((int)(blockIdx.x * P::cells + threadIdx.x), piece::side,
                                       dg_div_up(to.rows, Job::step), dg_div_up(to.cols, Job::step));
    __syncthreads();
    G::loader::build(place, patch, a.N, from.rows, from.cols, from.channels, cell);
    __syncthreads();
    Job job(a, a.w, n0, first, place, patch, weights);
    if (G::E::scaled) job.loader.below = dg_power_of_two(Job::shift(a));
    dg_mma_run(job, last - first);
    if (G::E::scaled) job.sums.times(dg_power_of_two(-Job::shift(a)));

    out += (int64_t)part * a.N * to.rows * to.cols * to.channels;
#pragma unroll
    for (int i = 0; i < 2 * G::MI; i++) {
        const int at = job.result(a, cell, i);
        if (at >= 0) job.sums.store(out + at, i, n0 + job.column() + dg_warp_lane() % 4 * 2, to.channels);
    }
}

template <class Job, class G>
static __global__ void __launch_bounds__(G::NT, G::blocks) conv_kernel(const dg_conv_args a, float *out, int split)
{
    if constexpr (G::E::there) dg_conv_block<Job, G>(a, out, split);
    else __trap();
}

template <class Job, class G>
static void dg_conv_launch(const dg_conv_args *a, int split, float *out, cudaStream_t stream)
{
    const dg_maps to = Job::to_maps(*a);
    const int side = G::patch::piece::side, rows = dg_div_up(to.rows, Job::step), cols = dg_div_up(to.cols, Job::step);
    const dim3 grid((unsigned)dg_div_up(a->N * dg_div_up(rows, side) * dg_div_up(cols, side), G::patch::cells),
                    (unsigned)dg_div_up(to.channels, G::N), (unsigned)split);
    KLAUNCH((conv_kernel<Job, G>), grid, dim3(G::NT), G::bytes, stream, *a, out, split);
}

template <class E>
static void dg_conv_mma_as(dg_op_kind kind, const dg_conv_args *a, const dg_tune *tune, float *out, cudaStream_t stream)
{
    dg_mma_instance<E, DG_AS_IS>(kind, a->Wo <= DG_MMA_SMALL, tune, [=](auto which) {
        typedef decltype(which) of;
        dg_conv_launch<typename of::job, typename of::tile>(a, tune->split, out, stream);
    });
}
