/* Launcher of fused data gradients on tensor cores (kernels: fused_mma.cuh). */
#ifndef DG_FUSED_MMA_DX_CUH
#define DG_FUSED_MMA_DX_CUH

#include "kernels/ops/conv/cuda/conv_mma_dx.cuh"
#include "kernels/fused/fused_mma.cuh"

template <class E, bool SMALL, int MAP>
static void dg_fused_dx_tile(const dg_fused_conv *f, const dg_tune *tune, cudaStream_t stream)
{
#define X(M, N, WN, GROUPS)                                                     \
    if (tune->tile_m == M && tune->tile_n == N) {                               \
        typedef dg_dx_tile<E, float, SMALL, M, N, WN, GROUPS, MAP> tile;        \
        dg_fused_launch<dg_dx_job<tile>, tile>(DG_OP_conv_dx, f, tune, stream); \
    }
    DG_MMA_DX_TILES(X)
#undef X
}

template <class E, int MAPS> static void dg_fused_dx(const dg_fused_conv *f, const dg_tune *tune, cudaStream_t stream)
{
    dg_fused_instance<MAPS>(f, [=](auto small, auto map) {
        dg_fused_dx_tile<E, decltype(small)::value, decltype(map)::value>(f, tune, stream);
    });
}

#endif
