/* Data gradient on tensor cores with factors rounded to tf32, between a prologue and an epilogue. */
#include "kernels/fused/fused_mma_dx.cuh"

void dg_fused_mma_dx_tf32(const dg_fused_conv *f, const dg_tune *tune, cudaStream_t stream)
{
    dg_fused_dx<dg_mma_tf32, DG_FUSED_MAPS>(f, tune, stream);
}
