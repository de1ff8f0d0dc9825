/* Forward convolutions of images on tensor cores, with and without prologue and epilogue. */
#include "kernels/ops/conv/cuda/conv_thin_mma.cuh"
#include "kernels/fused/fused_thin_fwd.cuh"

void dg_fused_thin_mma_fwd(const dg_fused_conv *f, bool overlapping, cudaStream_t stream)
{
    (f->conv.Ci == 1 ? dg_fused_thin_fwd<dg_thin_mma_fwd<1>> : dg_fused_thin_fwd<dg_thin_mma_fwd<3>>)(f, overlapping,
                                                                                                      stream);
}
