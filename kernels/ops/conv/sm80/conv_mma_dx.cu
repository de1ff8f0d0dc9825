/* Data gradient on tensor cores: conv_mma_dx.cuh. */
#include "kernels/ops/conv/cuda/conv_mma_dx.cuh"
#include "kernels/ops/conv/cuda/conv_mma_plain.cuh"

template <class G> static void launch(const dg_conv_args *a, int split, float *out, cudaStream_t stream)
{
    dg_conv_launch<dg_dx_job<G>, G>(a, split, out, stream);
}

template <class E> static void launch_tile(const dg_conv_args *a, const dg_tune *tune, float *out, cudaStream_t stream)
{
#define X(M, N, WN, GROUPS)                                                                                           \
    if (tune->tile_m == M && tune->tile_n == N) {                                                                     \
        if (a->Wo <= DG_MMA_SMALL) launch<dg_dx_tile<E, float, true, M, N, WN, GROUPS>>(a, tune->split, out, stream); \
        else launch<dg_dx_tile<E, float, false, M, N, WN, GROUPS>>(a, tune->split, out, stream);                      \
    }
    if constexpr (E::unit == dg_mma_tf32::unit) {
        DG_TF32_DX_TILES(X)
    } else {
        DG_MMA_DX_TILES(X)
    }
#undef X
}

void dg_conv_mma_dx(const dg_conv_args *a, const dg_tune *tune, float *out, cudaStream_t stream)
{
    if (tune->math == DG_MATH_BF16) launch_tile<dg_mma_bf16>(a, tune, out, stream);
    if (tune->math == DG_MATH_TF32) launch_tile<dg_mma_tf32>(a, tune, out, stream);
}
