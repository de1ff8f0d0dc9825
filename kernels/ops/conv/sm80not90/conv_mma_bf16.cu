/* Convolutions on tensor cores with bf16 operands, except weight gradients; sm_90 uses warpgroups (sm90a). */
#include "kernels/ops/conv/cuda/conv_mma_plain.cuh"

void dg_conv_mma_bf16(dg_op_kind kind, const dg_conv_args *a, const dg_tune *tune, float *out, cudaStream_t stream)
{
    dg_conv_mma_as<dg_mma_bf16>(kind, a, tune, out, stream);
}
