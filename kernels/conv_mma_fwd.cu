/* Forward pass on tensor cores: its kernels (conv_mma_fwd.cuh). */
#include "conv_mma_fwd.cuh"

template <class G> static __global__ void __launch_bounds__(G::NT, G::blocks) fwd_kernel(const dg_conv_args a, float *out, int split)
{
    DEV_CHECK(blockDim.x == G::NT);
    typedef typename G::patch P;
    typedef typename P::piece piece;
    dev_pool pool;
    uint4 *const patch = pool.take<uint4>(2 * P::units), *const weights = pool.take<uint4>(2 * G::portion);
    dg_cell *const cell = pool.take<dg_cell>(P::cells);
    dg_place *const place = pool.take<dg_place>(G::loader::places);
    const int part = (int)blockIdx.z, co0 = (int)blockIdx.y * G::N, chunks = dg_div_up(a.Ci, G::chunk);
    const int first = (int)((int64_t)chunks * part / split), last = (int)((int64_t)chunks * (part + 1) / split);
    if (threadIdx.x < P::cells)
        cell[threadIdx.x] = dg_cell_of((int)(blockIdx.x * P::cells + threadIdx.x), piece::side, a.Ho, a.Wo);
    __syncthreads();
    G::loader::build(place, patch, a.N, a.H, a.W, a.Ci, cell);
    __syncthreads();
    dg_fwd_job<G> job(a, co0, first, cell, place, patch, weights);
    dg_mma_run(job, last - first);

    out += (int64_t)part * a.N * a.Ho * a.Wo * a.Co;
#pragma unroll
    for (int i = 0; i < 2 * G::MI; i++) {
        const int at = job.result(a, cell, i);
        if (at >= 0) job.sums.store(out + at, i, co0 + job.column() + dg_warp_lane() % 4 * 2, a.Co);
    }
}

template <class G> static void launch(const dg_conv_args *a, int split, float *out, cudaStream_t stream)
{
    const int side = G::patch::piece::side, cells = a->N * dg_div_up(a->Ho, side) * dg_div_up(a->Wo, side);
    const dim3 grid((unsigned)dg_div_up(cells, G::patch::cells), (unsigned)dg_div_up(a->Co, G::N), (unsigned)split);
    KLAUNCH(fwd_kernel<G>, grid, dim3(G::NT), G::bytes, stream, *a, out, split);
}

template <class E> static void launch_tile(const dg_conv_args *a, const dg_tune *tune, float *out, cudaStream_t stream)
{
#define X(M, N, WN, GROUPS)                                                                                   \
    if (tune->tile_m == M && tune->tile_n == N) {                                                             \
        if (a->Wo <= DG_MMA_SMALL)                                                                            \
            launch<dg_fwd_tile<E, float, true, M, N, WN, GROUPS>>(a, tune->split, out, stream);                  \
        else                                                                                                  \
            launch<dg_fwd_tile<E, float, false, M, N, WN, GROUPS>>(a, tune->split, out, stream);                 \
    }
    DG_MMA_FWD_TILES(X)
#undef X
}

void dg_conv_mma_fwd(const dg_conv_args *a, const dg_tune *tune, float *out, cudaStream_t stream)
{
    tune->math == DG_MATH_BF16 ? launch_tile<dg_mma_bf16>(a, tune, out, stream) : launch_tile<dg_mma_tf32>(a, tune, out, stream);
}
