/* Data gradient on tensor cores: its kernels (conv_mma_dx.cuh). */
#include "conv_mma_dx.cuh"

template <class G> static __global__ void __launch_bounds__(G::NT, G::blocks) dx_kernel(const dg_conv_args a, float *out, int split)
{
    DEV_CHECK(blockDim.x == G::NT);
    typedef typename G::patch P;
    typedef typename P::piece piece;
    dev_pool pool;
    uint4 *const patch = pool.take<uint4>(2 * P::units), *const weights = pool.take<uint4>(2 * G::portion);
    dg_cell *const cell = pool.take<dg_cell>(P::cells);
    dg_place *const place = pool.take<dg_place>(G::loader::places);
    const int part = (int)blockIdx.z, ci0 = (int)blockIdx.y * G::N, chunks = a.Co / G::chunk;
    const int first = (int)((int64_t)chunks * part / split), last = (int)((int64_t)chunks * (part + 1) / split);
    if (threadIdx.x < P::cells)
        cell[threadIdx.x] = dg_cell_of((int)(blockIdx.x * P::cells + threadIdx.x), piece::side, (a.H + 1) / 2, (a.W + 1) / 2);
    __syncthreads();
    G::loader::build(place, patch, a.N, a.Ho, a.Wo, a.Co, cell);
    __syncthreads();
    dg_dx_job<G> job(a, ci0, first, cell, place, patch, weights);
    dg_mma_run(job, last - first);

    out += (int64_t)part * a.N * a.H * a.W * a.Ci;
#pragma unroll
    for (int i = 0; i < 2 * G::MI; i++) {
        const int at = job.result(a, cell, i);
        if (at >= 0) job.sums.store(out + at, i, ci0 + job.column() + dg_warp_lane() % 4 * 2, a.Ci);
    }
}

template <class G> static void launch(const dg_conv_args *a, int split, float *out, cudaStream_t stream)
{
    const int side = G::patch::piece::side, cells = a->N * dg_div_up(dg_div_up(a->H, 2), side) * dg_div_up(dg_div_up(a->W, 2), side);
    const dim3 grid((unsigned)dg_div_up(cells, G::patch::cells), (unsigned)dg_div_up(a->Ci, G::N), (unsigned)split);
    KLAUNCH(dx_kernel<G>, grid, dim3(G::NT), G::bytes, stream, *a, out, split);
}

template <class E> static void launch_tile(const dg_conv_args *a, const dg_tune *tune, float *out, cudaStream_t stream)
{
#define X(M, N, WN, GROUPS)                                                                                   \
    if (tune->tile_m == M && tune->tile_n == N) {                                                             \
        if (a->Wo <= DG_MMA_SMALL)                                                                            \
            launch<dg_dx_tile<E, float, true, M, N, WN, GROUPS>>(a, tune->split, out, stream);                   \
        else                                                                                                  \
            launch<dg_dx_tile<E, float, false, M, N, WN, GROUPS>>(a, tune->split, out, stream);                  \
    }
    DG_MMA_DX_TILES(X)
#undef X
}

void dg_conv_mma_dx(const dg_conv_args *a, const dg_tune *tune, float *out, cudaStream_t stream)
{
    tune->math == DG_MATH_BF16 ? launch_tile<dg_mma_bf16>(a, tune, out, stream) : launch_tile<dg_mma_tf32>(a, tune, out, stream);
}
