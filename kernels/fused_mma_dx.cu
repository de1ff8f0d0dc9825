/* Data gradient on tensor cores between a source and a sink. */
#include "conv_mma_dx.cuh"
#include "fused_mma.cuh"

template <class E, bool SMALL, int MAP> static void launch_tile(const dg_fused_conv *f, const dg_tune *tune, cudaStream_t stream)
{
#define X(M, N, WN, GROUPS)                                                                                   \
    if (tune->tile_m == M && tune->tile_n == N) {                                                             \
        typedef dg_dx_tile<E, float, SMALL, M, N, WN, GROUPS, MAP> tile;                                      \
        dg_fused_launch<dg_dx_job<tile>, tile>(DG_OP_conv_dx, f, tune, stream);                               \
    }
    DG_MMA_DX_TILES(X)
#undef X
}

template <class E> static void launch(const dg_fused_conv *f, const dg_tune *tune, cudaStream_t stream)
{
    const bool small = f->conv.Wo <= DG_MMA_SMALL, two = f->in.kind == DG_SOURCE_NORM_DX;
    if (small)
        two ? launch_tile<E, true, DG_TWO_TENSORS>(f, tune, stream) : launch_tile<E, true, DG_ONE_TENSOR>(f, tune, stream);
    else
        two ? launch_tile<E, false, DG_TWO_TENSORS>(f, tune, stream) : launch_tile<E, false, DG_ONE_TENSOR>(f, tune, stream);
}

void dg_fused_mma_dx(const dg_fused_conv *f, const dg_tune *tune, cudaStream_t stream)
{
    tune->math == DG_MATH_BF16 ? launch<dg_mma_bf16>(f, tune, stream) : launch<dg_mma_tf32>(f, tune, stream);
}
