/* Fused forward convolution on tensor cores with operands rounded to bf16; sm_90 uses warpgroups (sm90a). */
#include "kernels/fused/fused_mma_fwd.cuh"

void dg_fused_mma_fwd_bf16(const dg_fused_conv *f, const dg_tune *tune, cudaStream_t stream)
{
    dg_fused_fwd<dg_mma_bf16, DG_FUSED_MAPS_BF16 | 1 << DG_ROUNDED>(f, tune, stream);
}
