/* Forward convolutions of images on tensor cores, with and without prologue and epilogue. */
#include "kernels/ops/conv/cuda/conv_thin_mma.cuh"
#include "kernels/fused/fused_thin_fwd.cuh"

template <class E> static void launch(const dg_fused_conv *f, bool overlapping, cudaStream_t stream)
{
    f->conv.Ci == 1 ? dg_fused_thin_fwd<dg_thin_mma_fwd<E, 1>>(f, overlapping, stream)
                    : dg_fused_thin_fwd<dg_thin_mma_fwd<E, 3>>(f, overlapping, stream);
}

void dg_fused_thin_mma_fwd(const dg_fused_conv *f, const dg_tune *tune, bool overlapping, cudaStream_t stream)
{
    tune->math == DG_MATH_BF16 ? launch<dg_mma_bf16>(f, overlapping, stream)
                               : launch<dg_mma_tf32>(f, overlapping, stream);
}
