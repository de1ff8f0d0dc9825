/* Fused convolutions on Hopper's warpgroups. */
#include "kernels/dev/wgmma.cuh"

#include "kernels/fused/fused_mma.cuh"

void dg_fused_wgmma(dg_op_kind kind, const dg_fused_conv *f, const dg_tune *tune, cudaStream_t stream)
{
    dg_fused_mma_as<dg_wgmma_bf16, DG_FUSED_MAPS_BF16>(kind, f, tune, stream);
}
