#include "fuse.cuh"
void dg_fused_update_launch(const dg_fused_update *, cudaStream_t) {}
