/* Fused convolutions with operands rounded to bf16. On sm_90, warpgroups are used instead (folder sm90a). */
#include "kernels/fused/fused_mma.cuh"

void dg_fused_mma_bf16(dg_op_kind kind, const dg_fused_conv *f, const dg_tune *tune, cudaStream_t stream)
{
    dg_fused_mma_as<dg_mma_bf16, DG_FUSED_MAPS_BF16>(kind, f, tune, stream);
}
