/* Fused convolutions with operands rounded to fp16, forward and data gradient. */
#include "kernels/fused/fused_mma.cuh"

void dg_fused_mma_fp16(dg_op_kind kind, const dg_fused_conv *f, const dg_tune *tune, cudaStream_t stream)
{
    dg_fused_mma_as<dg_mma_fp16, DG_FUSED_MAPS>(kind, f, tune, stream);
}
