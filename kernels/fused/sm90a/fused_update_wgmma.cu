/* The fused update with operands rounded to bf16, on Hopper's warpgroups. */
#include "kernels/dev/wgmma.cuh"

#include "kernels/fused/fused_update_job.cuh"

void dg_fused_update_wgmma(const dg_update_layout *l, size_t shared, cudaStream_t stream)
{
    dg_update_start<dg_wgmma_bf16>(l, shared, stream);
}
