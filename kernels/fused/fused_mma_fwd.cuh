/* Launcher of fused forward convolutions on tensor cores (kernels: fused_mma.cuh). */
#ifndef DG_FUSED_MMA_FWD_CUH
#define DG_FUSED_MMA_FWD_CUH

#include "kernels/ops/conv/cuda/conv_mma_fwd.cuh"
#include "kernels/fused/fused_mma.cuh"

template <class E, bool SMALL, int MAP>
static void dg_fused_fwd_tile(const dg_fused_conv *f, const dg_tune *tune, cudaStream_t stream)
{
#define X(SMALL_MAPS, M, N, WN, GROUPS)                                               \
    if constexpr (SMALL == SMALL_MAPS) {                                              \
        typedef dg_fwd_tile<E, float, SMALL, M, N, WN, GROUPS, MAP> tile;             \
        if (tune->tile_m == M && tune->tile_n == N)                                   \
            dg_fused_launch<dg_fwd_job<tile>, tile>(DG_OP_conv_fwd, f, tune, stream); \
    }
    DG_MMA_FWD_TILES(X)
#undef X
}

template <class E, int MAPS> static void dg_fused_fwd(const dg_fused_conv *f, const dg_tune *tune, cudaStream_t stream)
{
    dg_fused_instance<MAPS>(f, [=](auto small, auto map) {
        dg_fused_fwd_tile<E, decltype(small)::value, decltype(map)::value>(f, tune, stream);
    });
}

#endif
