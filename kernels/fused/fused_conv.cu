/* Dispatches fused convolutions to their kernel families. */
#include "kernels/fused/fuse.cuh"

void dg_fused_conv_launch(dg_op_kind kind, const dg_fused_conv *f, const dg_tune *tune, cudaStream_t stream)
{
    switch (dg_fused_family_of(kind, &f->conv, tune)) {
    case DG_FUSED_WGMMA: return dg_fused_wgmma(kind, f, tune, stream);
    case DG_FUSED_MMA:
        return (tune->math == DG_MATH_FP16 ? dg_fused_mma_fp16 : dg_fused_mma_bf16)(kind, f, tune, stream);
    case DG_FUSED_THIN:
    case DG_FUSED_THIN_MMA: return dg_fused_thin(kind, f, tune, true, stream);
    case DG_FUSED_DENSE: return dg_fused_dense(f, stream);
    case DG_FUSED_GEMV:
    case DG_FUSED_NONE: break;
    }
}
