/* The fused update with operands rounded to tf32. */
#include "kernels/fused/fused_update_job.cuh"

void dg_fused_update_tf32(const dg_update_layout *l, size_t shared, cudaStream_t stream)
{
    dg_update_start<dg_mma_tf32>(l, shared, stream);
}
