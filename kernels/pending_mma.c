/* Until fused_mma.c is there: delete this file, and pending_mma.cu, with the commit that brings it. */
#include "fuse_parts.h"
const char *dg_fused_mma_refuses(dg_op_kind kind, const dg_fused_conv *f, const dg_tune *tune, const dg_gpu *gpu)
{
    (void)kind, (void)f, (void)tune, (void)gpu;
    return "not there yet";
}
dg_fused_size dg_fused_mma_size(dg_op_kind kind, const dg_fused_conv *f, const dg_tune *tune)
{
    (void)kind, (void)f, (void)tune;
    return (dg_fused_size){0, 0};
}
