/* Weight gradient on tensor cores: conv_mma_dw.cuh. */
#include "kernels/ops/conv/cuda/conv_mma_dw_plain.cuh"

void dg_conv_mma_dw(const dg_conv_args *a, const dg_tune *tune, float *out, cudaStream_t stream)
{
    if (tune->math == DG_MATH_BF16) dg_dw_launch<dg_mma_bf16>(a, tune->split, out, stream);
    if (tune->math == DG_MATH_TF32) dg_dw_launch<dg_mma_tf32>(a, tune->split, out, stream);
}
