#include "fuse.cuh"
void dg_fused_dense(const dg_fused_conv *, cudaStream_t) {}
