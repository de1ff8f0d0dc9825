/* Convolutions on Hopper's warpgroups: the tiles of conv_mma_fwd.cuh and conv_mma_dx.cuh, the products of wgmma.cuh. */
#include "kernels/dev/wgmma.cuh"

#include "kernels/ops/conv/cuda/conv_mma_plain.cuh"

void dg_conv_wgmma_fwd(const dg_conv_args *a, const dg_tune *tune, float *out, cudaStream_t stream)
{
#define X(SMALL, M, N, GROUPS)                                                        \
    if ((a->Wo <= DG_MMA_SMALL) == SMALL && tune->tile_m == M && tune->tile_n == N) { \
        typedef dg_fwd_tile<dg_wgmma_bf16, float, SMALL, M, N, N, GROUPS> tile;       \
        dg_conv_launch<dg_fwd_job<tile>, tile>(a, tune->split, out, stream);          \
    }
    DG_WGMMA_FWD_TILES(X)
#undef X
}

void dg_conv_wgmma_dx(const dg_conv_args *a, const dg_tune *tune, float *out, cudaStream_t stream)
{
#define X(SMALL, M, N, GROUPS)                                                        \
    if ((a->Wo <= DG_MMA_SMALL) == SMALL && tune->tile_m == M && tune->tile_n == N) { \
        typedef dg_dx_tile<dg_wgmma_bf16, float, SMALL, M, N, N, GROUPS> tile;        \
        dg_conv_launch<dg_dx_job<tile>, tile>(a, tune->split, out, stream);           \
    }
    DG_WGMMA_DX_TILES(X)
#undef X
}
