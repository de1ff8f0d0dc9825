/* Convolutions on tensor cores with factors rounded to fp16: also where bf16 is as quick, so that what sm_75 trains can
 * be checked there. */
#include "kernels/ops/conv/cuda/conv_mma_dw_plain.cuh"
#include "kernels/ops/conv/cuda/conv_mma_plain.cuh"

void dg_conv_mma_fp16(dg_op_kind kind, const dg_conv_args *a, const dg_tune *tune, float *out, cudaStream_t stream)
{
    if (kind == DG_OP_conv_dw) return dg_dw_launch<dg_mma_fp16>(a, tune->split, out, stream);
    (kind == DG_OP_conv_fwd ? dg_conv_mma_fwd<dg_mma_fp16> : dg_conv_mma_dx<dg_mma_fp16>)(a, tune, out, stream);
}
