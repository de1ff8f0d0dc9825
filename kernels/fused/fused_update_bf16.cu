/* The fused update with operands rounded to bf16. */
#include "kernels/fused/fused_update_job.cuh"

void dg_fused_update_bf16(const dg_update_layout *l, size_t shared, cudaStream_t stream)
{
    dg_update_start<dg_mma_bf16>(l, shared, stream);
}
