/* Forward pass on tensor cores with factors rounded to bf16, between a prologue and an epilogue. On sm_90
 * warpgroups do it (sm90a). */
#include "kernels/ops/conv/cuda/conv_mma_fwd.cuh"
#include "kernels/fused/fused_mma.cuh"

template <bool SMALL, int MAP> static void launch(const dg_fused_conv *f, const dg_tune *tune, cudaStream_t stream)
{
#define X(SMALL_MAPS, M, N, WN, GROUPS)                                               \
    if constexpr (SMALL == SMALL_MAPS) {                                              \
        typedef dg_fwd_tile<dg_mma_bf16, float, SMALL, M, N, WN, GROUPS, MAP> tile;   \
        if (tune->tile_m == M && tune->tile_n == N)                                   \
            dg_fused_launch<dg_fwd_job<tile>, tile>(DG_OP_conv_fwd, f, tune, stream); \
    }
    DG_MMA_FWD_TILES(X)
#undef X
}

void dg_fused_mma_fwd_bf16(const dg_fused_conv *f, const dg_tune *tune, cudaStream_t stream)
{
    dg_fused_instance<DG_FUSED_MAPS_BF16 | 1 << DG_ROUNDED>(f, [=](auto small, auto map) {
        launch<decltype(small)::value, decltype(map)::value>(f, tune, stream);
    });
}
