/* Fused convolutions with operands rounded to fp16, forward and data gradient. */
#include "kernels/ops/conv/cuda/conv_mma_dx.cuh"
#include "kernels/ops/conv/cuda/conv_mma_fwd.cuh"
#include "kernels/fused/fused_mma.cuh"

template <bool SMALL, int MAP>
static void launch(dg_op_kind kind, const dg_fused_conv *f, const dg_tune *tune, cudaStream_t stream)
{
#define X(SMALL_MAPS, M, N, WN, GROUPS)                                             \
    if constexpr (SMALL == SMALL_MAPS) {                                            \
        typedef dg_fwd_tile<dg_mma_fp16, float, SMALL, M, N, WN, GROUPS, MAP> tile; \
        if (kind == DG_OP_conv_fwd && tune->tile_m == M && tune->tile_n == N)       \
            dg_fused_launch<dg_fwd_job<tile>, tile>(kind, f, tune, stream);         \
    }
    DG_FP16_FWD_TILES(X)
#undef X
#define X(M, N, WN, GROUPS)                                                        \
    if (kind == DG_OP_conv_dx && tune->tile_m == M && tune->tile_n == N) {         \
        typedef dg_dx_tile<dg_mma_fp16, float, SMALL, M, N, WN, GROUPS, MAP> tile; \
        dg_fused_launch<dg_dx_job<tile>, tile>(kind, f, tune, stream);             \
    }
    DG_MMA_DX_TILES(X)
#undef X
}

void dg_fused_mma_fp16(dg_op_kind kind, const dg_fused_conv *f, const dg_tune *tune, cudaStream_t stream)
{
    dg_fused_instance<DG_FUSED_MAPS>(f, [=](auto small, auto map) {
        launch<decltype(small)::value, decltype(map)::value>(kind, f, tune, stream);
    });
}
