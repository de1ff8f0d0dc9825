/* Selects the kernel of a forward pass or data gradient for a tile of core/tune/conv_tiles.h. */
#pragma once

#include "kernels/ops/conv/cuda/conv_mma_dx.cuh"
#include "kernels/ops/conv/cuda/conv_mma_fwd.cuh"

template <template <class> class Job, class G> struct dg_instance {
    typedef Job<G> job;
    typedef G tile;
};

/* Calls `launch` with the dg_instance for the tile in `tune`. `small`: cells are 4x4. */
template <class E, int MAP, class F>
static void dg_mma_instance(dg_op_kind kind, bool small, const dg_tune *tune, F launch)
{
#define X(SMALL, M, N, WN, GROUPS)                                                          \
    if (kind == DG_OP_conv_fwd && small == SMALL && tune->tile_m == M && tune->tile_n == N) \
        launch(dg_instance<dg_fwd_job, dg_fwd_tile<E, SMALL, M, N, WN, GROUPS, MAP>>());
    if constexpr (E::warps > 1) {
        DG_WGMMA_FWD_TILES(X)
    } else if constexpr (E::scaled) {
        DG_FP16_FWD_TILES(X)
    } else {
        DG_MMA_FWD_TILES(X)
    }
#undef X
#define X(SMALL, M, N, WN, GROUPS)                                                         \
    if (kind == DG_OP_conv_dx && small == SMALL && tune->tile_m == M && tune->tile_n == N) \
        launch(dg_instance<dg_dx_job, dg_dx_tile<E, SMALL, M, N, WN, GROUPS, MAP>>());
    if constexpr (MAP == DG_ROUNDED) { /* no data gradient reads rounded tensors without a prologue */
    } else if constexpr (E::warps > 1) {
        DG_WGMMA_DX_TILES(X)
    } else {
        DG_MMA_DX_TILES(X)
    }
#undef X
}
