/* Chooses the kernel family of a fused convolution, and returns its limits and scratch size. */
#include "core/tune/conv_tiles.h"
#include "kernels/fused/fuse_launch.h"

dg_fused_family dg_fused_family_of(dg_op_kind kind, const dg_conv_args *a, const dg_tune *tune)
{
    const dg_conv_args flat = dg_conv_flat(a);
    const dg_fused_family family = tune->variant->fused;
    if (family && family != DG_FUSED_GEMV) return family;
    if (kind == DG_OP_conv_dx && flat.K == 1 && flat.Ho == 1 && flat.Wo == 1) return DG_FUSED_DENSE;
    return DG_FUSED_NONE;
}

const char *dg_fused_conv_refuses(dg_op_kind kind, const dg_fused_conv *f, const dg_tune *tune, const dg_gpu *gpu)
{
    switch (dg_fused_family_of(kind, &f->conv, tune)) {
    case DG_FUSED_MMA:
    case DG_FUSED_WGMMA: return dg_fused_mma_refuses(kind, f, tune, gpu);
    case DG_FUSED_THIN:
    case DG_FUSED_THIN_MMA: return dg_fused_thin_refuses(kind, f, tune, gpu);
    case DG_FUSED_DENSE: return dg_fused_dense_refuses(kind, f, tune, gpu);
    case DG_FUSED_GEMV:
    case DG_FUSED_NONE: break;
    }
    return "this variant has no fused kernel";
}

dg_fused_size dg_fused_conv_size(dg_op_kind kind, const dg_fused_conv *f, const dg_tune *tune)
{
    switch (dg_fused_family_of(kind, &f->conv, tune)) {
    case DG_FUSED_MMA:
    case DG_FUSED_WGMMA: return dg_fused_mma_size(kind, f, tune);
    case DG_FUSED_THIN:
    case DG_FUSED_THIN_MMA: return dg_fused_thin_size(kind, f);
    case DG_FUSED_DENSE: return dg_fused_dense_size(kind, f, tune);
    case DG_FUSED_GEMV:
    case DG_FUSED_NONE: break;
    }
    return (dg_fused_size){0, 0};
}
