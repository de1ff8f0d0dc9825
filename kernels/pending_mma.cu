#include "fuse.cuh"
void dg_fused_mma_fwd(const dg_fused_conv *, const dg_tune *, cudaStream_t) {}
void dg_fused_mma_dx(const dg_fused_conv *, const dg_tune *, cudaStream_t) {}
