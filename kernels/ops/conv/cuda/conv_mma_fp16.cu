/* Convolutions on tensor cores with factors rounded to fp16: also where bf16 is as quick, so that what sm_75 trains can
 * be checked there. */
#include "kernels/ops/conv/cuda/conv_mma_dw_plain.cuh"
#include "kernels/ops/conv/cuda/conv_mma_dx.cuh"
#include "kernels/ops/conv/cuda/conv_mma_fwd.cuh"
#include "kernels/ops/conv/cuda/conv_mma_plain.cuh"

static void fwd(const dg_conv_args *a, const dg_tune *tune, float *out, cudaStream_t stream)
{
#define X(SMALL, M, N, WN, GROUPS)                                                    \
    if ((a->Wo <= DG_MMA_SMALL) == SMALL && tune->tile_m == M && tune->tile_n == N) { \
        typedef dg_fwd_tile<dg_mma_fp16, float, SMALL, M, N, WN, GROUPS> tile;        \
        dg_conv_launch<dg_fwd_job<tile>, tile>(a, tune->split, out, stream);          \
    }
    DG_FP16_FWD_TILES(X)
#undef X
}

template <bool SMALL> static void dx(const dg_conv_args *a, const dg_tune *tune, float *out, cudaStream_t stream)
{
#define X(M, N, WN, GROUPS)                                                   \
    if (tune->tile_m == M && tune->tile_n == N) {                             \
        typedef dg_dx_tile<dg_mma_fp16, float, SMALL, M, N, WN, GROUPS> tile; \
        dg_conv_launch<dg_dx_job<tile>, tile>(a, tune->split, out, stream);   \
    }
    DG_MMA_DX_TILES(X)
#undef X
}

void dg_conv_mma_fp16(dg_op_kind kind, const dg_conv_args *a, const dg_tune *tune, float *out, cudaStream_t stream)
{
    if (kind == DG_OP_conv_dw) return dg_dw_launch<dg_mma_fp16>(a, tune->split, out, stream);
    if (kind == DG_OP_conv_fwd) return fwd(a, tune, out, stream);
    a->Wo <= DG_MMA_SMALL ? dx<true>(a, tune, out, stream) : dx<false>(a, tune, out, stream);
}
