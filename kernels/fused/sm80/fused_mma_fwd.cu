/* Forward pass on tensor cores between a prologue and an epilogue. */
#include "kernels/ops/conv/cuda/conv_mma_fwd.cuh"
#include "kernels/fused/fused_mma.cuh"

template <class E, bool SMALL, int MAP>
static void launch_tile(const dg_fused_conv *f, const dg_tune *tune, cudaStream_t stream)
{
#define X(M, N, WN, GROUPS)                                                       \
    if (tune->tile_m == M && tune->tile_n == N) {                                 \
        typedef dg_fwd_tile<E, float, SMALL, M, N, WN, GROUPS, MAP> tile;         \
        dg_fused_launch<dg_fwd_job<tile>, tile>(DG_OP_conv_fwd, f, tune, stream); \
    }
    if constexpr (E::unit == dg_mma_tf32::unit) {
        DG_TF32_FWD_TILES(X)
    } else {
        DG_MMA_FWD_TILES(X)
    }
#undef X
}

template <class E> static void launch(const dg_fused_conv *f, const dg_tune *tune, cudaStream_t stream)
{
    static constexpr int maps = E::unit == dg_mma_bf16::unit ? DG_FUSED_MAPS_BF16 | 1 << DG_ROUNDED : DG_FUSED_MAPS;
    dg_fused_instance<maps>(f, [=](auto small, auto map) {
        launch_tile<E, decltype(small)::value, decltype(map)::value>(f, tune, stream);
    });
}

void dg_fused_mma_fwd(const dg_fused_conv *f, const dg_tune *tune, cudaStream_t stream)
{
    if (tune->math == DG_MATH_BF16) launch<dg_mma_bf16>(f, tune, stream);
    if (tune->math == DG_MATH_TF32) launch<dg_mma_tf32>(f, tune, stream);
}
