/* Convolutions by warpgroups (Hopper): the kernels of conv_mma_plain.cuh with the products of wgmma.cuh. */
#include "kernels/dev/wgmma.cuh"

#include "kernels/ops/conv/cuda/conv_mma_plain.cuh"

void dg_conv_mma_wide(dg_op_kind kind, const dg_conv_args *a, const dg_tune *tune, float *out, cudaStream_t stream)
{
    dg_conv_mma_as<dg_wgmma_bf16>(kind, a, tune, out, stream);
}
