/* Forward pass on tensor cores with factors rounded to bf16: conv_mma_fwd.cuh. On sm_90 warpgroups do it (sm90a). */
#include "kernels/ops/conv/cuda/conv_mma_fwd.cuh"
#include "kernels/ops/conv/cuda/conv_mma_plain.cuh"

void dg_conv_mma_fwd_bf16(const dg_conv_args *a, const dg_tune *tune, float *out, cudaStream_t stream)
{
#define X(SMALL, M, N, WN, GROUPS)                                                    \
    if ((a->Wo <= DG_MMA_SMALL) == SMALL && tune->tile_m == M && tune->tile_n == N) { \
        typedef dg_fwd_tile<dg_mma_bf16, float, SMALL, M, N, WN, GROUPS> tile;        \
        dg_conv_launch<dg_fwd_job<tile>, tile>(a, tune->split, out, stream);          \
    }
    DG_MMA_FWD_TILES(X)
#undef X
}
