/* Variant cublas: dense layers and 1x1 convolutions with stride 1. */
#include "kernels/ops/conv/cuda/conv.cuh"
#include "kernels/cuda/cublas.cuh"

void dg_conv_cublas(dg_op_kind kind, const dg_conv_args *args, const dg_tune *, cudaStream_t stream)
{
    const dg_conv_args a = dg_conv_flat(args);
    float *x = (float *)a.x, *w = (float *)a.w, *y = (float *)a.y;
    const int m = a.N * a.H * a.W;
    if (kind == DG_OP_conv_fwd) dg_cublas_gemm(y, x, w, false, true, m, a.Co, a.Ci, stream);
    if (kind == DG_OP_conv_dx) dg_cublas_gemm(x, y, w, false, false, m, a.Ci, a.Co, stream);
    if (kind == DG_OP_conv_dw) dg_cublas_gemm(w, y, x, true, false, a.Co, a.Ci, m, stream);
}
