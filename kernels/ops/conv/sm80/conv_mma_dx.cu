/* Data gradient on tensor cores with factors rounded to tf32: conv_mma_dx.cuh. */
#include "kernels/ops/conv/cuda/conv_mma_dx.cuh"
#include "kernels/ops/conv/cuda/conv_mma_plain.cuh"

void dg_conv_mma_dx_tf32(const dg_conv_args *a, const dg_tune *tune, float *out, cudaStream_t stream)
{
#define X(M, N, WN, GROUPS)                                                                             \
    if (tune->tile_m == M && tune->tile_n == N) {                                                       \
        typedef dg_dx_tile<dg_mma_tf32, float, true, M, N, WN, GROUPS> small;                           \
        typedef dg_dx_tile<dg_mma_tf32, float, false, M, N, WN, GROUPS> large;                          \
        (a->Wo <= DG_MMA_SMALL ? dg_conv_launch<dg_dx_job<small>, small>                                \
                               : dg_conv_launch<dg_dx_job<large>, large>)(a, tune->split, out, stream); \
    }
    DG_TF32_DX_TILES(X)
#undef X
}
