/* Data gradient on tensor cores with operands rounded to bf16: conv_mma_dx.cuh. sm_90 uses warpgroups (sm90a). */
#include "kernels/ops/conv/cuda/conv_mma_plain.cuh"

void dg_conv_mma_dx_bf16(const dg_conv_args *a, const dg_tune *tune, float *out, cudaStream_t stream)
{
    dg_conv_mma_dx<dg_mma_bf16>(a, tune, out, stream);
}
