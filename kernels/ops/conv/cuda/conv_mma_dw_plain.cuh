/* Weight gradient on tensor cores by itself.
 *
 * Tile: 64 channels of y x 16 taps x 16 channels of x. Shared memory: bf16, fp16 37 KB, in small maps 45; tf32 74
 * and 90. Registers: 164 to 208. Bound by: shared memory and L2. Template parameters: G, the dg_dw_tile; E, its
 * arithmetic (mma.cuh). */
#ifndef DG_CONV_MMA_DW_PLAIN_CUH
#define DG_CONV_MMA_DW_PLAIN_CUH

#include "kernels/ops/conv/cuda/conv_mma_dw.cuh"

template <class G>
static __device__ __forceinline__ void dg_dw_block(const dg_conv_args &a, float *out, int split, int pieces)
{
    DEV_CHECK(blockDim.x == G::NT);
    typedef typename G::patch P;
    dev_pool pool;
    uint4 *const patch = pool.take<uint4>(2 * P::units), *const grad = pool.take<uint4>(2 * G::y_planes * 64);
    SHARED(dg_cell, cell, [2 * P::piece::cells]);
    const int part = (int)blockIdx.z, co0 = (int)blockIdx.x * G::M, ci0 = (int)blockIdx.y * G::N;
    const int first = (int)((int64_t)pieces * part / split), last = (int)((int64_t)pieces * (part + 1) / split);
    typedef dg_dw_plain<typename G::E, typename G::T, G::x_items> X;
    typedef dg_dw_plain<typename G::E, typename G::T, G::y_items> Y;
    typedef typename G::T T;
    /* What is beyond the channels is multiplied, but not stored. */
    const X x((const T *)a.x + min(ci0 + G::x_channel(), a.Ci - G::E::unit), a.shift_x);
    const Y y((const T *)a.y + min(co0 + G::y_channel(), a.Co - G::E::unit), a.shift_y);
    dg_dw_job<G, X, Y> job(a, first, a.N, cell, patch, grad, x, y);
    job.run(last - first);
    job.store(out + (int64_t)part * a.Co * 16 * a.Ci, co0, ci0);
}

template <class G>
static __global__ void __launch_bounds__(G::NT) dg_dw_kernel(const dg_conv_args a, float *out, int split, int pieces)
{
    if constexpr (G::E::there) dg_dw_block<G>(a, out, split, pieces);
    else __trap(); /* dg_variant_check() refuses it there */
}

template <class G> static void dg_dw_launch_tile(const dg_conv_args *a, int split, float *out, cudaStream_t stream)
{
    typedef typename G::patch::piece piece;
    const int cells = a->N * dg_div_up(a->Ho, piece::side) * dg_div_up(a->Wo, piece::side);
    const dim3 grid((unsigned)dg_div_up(a->Co, G::M), (unsigned)dg_div_up(a->Ci, G::N), (unsigned)split);
    KLAUNCH(dg_dw_kernel<G>, grid, dim3(G::NT), G::bytes, stream, *a, out, split, dg_div_up(cells, piece::cells));
}

template <class E> static void dg_dw_launch(const dg_conv_args *a, int split, float *out, cudaStream_t stream)
{
    a->Wo <= DG_MMA_SMALL ? dg_dw_launch_tile<dg_dw_tile<E, float, true>>(a, split, out, stream)
                          : dg_dw_launch_tile<dg_dw_tile<E, float, false>>(a, split, out, stream);
}

#endif
