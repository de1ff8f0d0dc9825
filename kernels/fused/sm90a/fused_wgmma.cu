/* Fused convolutions on Hopper's warpgroups. */
#include "kernels/dev/wgmma.cuh"

#include "kernels/ops/conv/cuda/conv_mma_dx.cuh"
#include "kernels/ops/conv/cuda/conv_mma_fwd.cuh"
#include "kernels/fused/fused_mma.cuh"

template <bool SMALL, int MAP>
static void launch_tile(dg_op_kind kind, const dg_fused_conv *f, const dg_tune *tune, cudaStream_t stream)
{
#define X(SMALL_MAPS, M, N, GROUPS)                                                  \
    if constexpr (SMALL == SMALL_MAPS) {                                             \
        typedef dg_fwd_tile<dg_wgmma_bf16, float, SMALL, M, N, N, GROUPS, MAP> tile; \
        if (kind == DG_OP_conv_fwd && tune->tile_m == M && tune->tile_n == N)        \
            dg_fused_launch<dg_fwd_job<tile>, tile>(kind, f, tune, stream);          \
    }
    DG_WGMMA_FWD_TILES(X)
#undef X
#define X(SMALL_MAPS, M, N, GROUPS)                                                 \
    if constexpr (SMALL == SMALL_MAPS && MAP != DG_ROUNDED) {                       \
        typedef dg_dx_tile<dg_wgmma_bf16, float, SMALL, M, N, N, GROUPS, MAP> tile; \
        if (kind == DG_OP_conv_dx && tune->tile_m == M && tune->tile_n == N)        \
            dg_fused_launch<dg_dx_job<tile>, tile>(kind, f, tune, stream);          \
    }
    DG_WGMMA_DX_TILES(X)
#undef X
}

void dg_fused_wgmma(dg_op_kind kind, const dg_fused_conv *f, const dg_tune *tune, cudaStream_t stream)
{
    dg_fused_instance<DG_FUSED_MAPS_BF16 | 1 << DG_ROUNDED>(f, [=](auto small, auto map) {
        launch_tile<decltype(small)::value, decltype(map)::value>(kind, f, tune, stream);
    });
}
