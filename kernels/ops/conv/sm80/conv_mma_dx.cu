/* Data gradient on tensor cores with operands rounded to tf32: conv_mma_dx.cuh. */
#include "kernels/ops/conv/cuda/conv_mma_plain.cuh"

void dg_conv_mma_dx_tf32(const dg_conv_args *a, const dg_tune *tune, float *out, cudaStream_t stream)
{
    dg_conv_mma_dx<dg_mma_tf32>(a, tune, out, stream);
}
