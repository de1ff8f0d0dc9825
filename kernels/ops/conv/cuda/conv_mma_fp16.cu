/* Convolutions on tensor cores with operands rounded to fp16. On GPUs newer than sm_75, only tests use these
 * kernels. */
#include "kernels/ops/conv/cuda/conv_mma_dw_plain.cuh"
#include "kernels/ops/conv/cuda/conv_mma_plain.cuh"

void dg_conv_mma_fp16(dg_op_kind kind, const dg_conv_args *a, const dg_tune *tune, float *out, cudaStream_t stream)
{
    if (kind == DG_OP_conv_dw) return dg_dw_launch<dg_mma_fp16>(a, tune->split, out, stream);
    dg_conv_mma_as<dg_mma_fp16>(kind, a, tune, out, stream);
}
