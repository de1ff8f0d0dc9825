/* Weight gradient on tensor cores with bf16 operands (conv_mma_dw.cuh). */
#include "kernels/ops/conv/cuda/conv_mma_dw_plain.cuh"

void dg_conv_mma_dw(const dg_conv_args *a, const dg_tune *tune, float *out, cudaStream_t stream)
{
    dg_dw_launch<dg_mma_bf16>(a, tune->split, out, stream);
}
