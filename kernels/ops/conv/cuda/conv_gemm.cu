/* Convolution with cuBLAS, the baseline: a matrix of patches (pixels of y) x (taps, channels of x) is built in scratch
 * and multiplied, or the product is folded back. If y is one pixel that covers all of x, x itself is the matrix of
 * patches.
 * Thread tile: n channels of a patch, 4 or 1. Shared memory: none (cuBLAS has its own). Registers: 25 to 34.
 * Bound by: memory, because the patches are K*K/S/S times as large as x */
#include "kernels/ops/conv/cuda/conv.cuh"
#include "kernels/cuda/cublas.cuh"

static constexpr int THREADS = 256;

/* patches[m][tap][ci] = x at tap of pixel m, 0 in the padding. */
template <int n> static __global__ void unfold_kernel(const dg_conv_args a, float *patches)
{
    const int64_t i = dg_thread() * n, length = (int64_t)a.K * a.K * a.Ci;
    if (i >= length * a.N * a.Ho * a.Wo) return;
    const int m = (int)(i / length), k = (int)(i % length), ci = k % a.Ci, kx = k / a.Ci % a.K, ky = k / a.Ci / a.K;
    const int iy = m / a.Wo % a.Ho * a.S - a.P + ky, ix = m % a.Wo * a.S - a.P + kx, image = m / a.Wo / a.Ho;
    dg_pack<float, n> v = {};
    if ((unsigned)iy < (unsigned)a.H && (unsigned)ix < (unsigned)a.W)
        v = dg_load<n>((const float *)a.x + (((int64_t)image * a.H + iy) * a.W + ix) * a.Ci + ci);
    dg_store<n>(patches + i, v);
}

/* The adjoint of unfolding: each value of x is the sum of its copies in patches, in the order of the taps. */
template <int n> static __global__ void fold_kernel(const dg_conv_args a, const float *patches)
{
    const int64_t i = dg_thread() * n, length = (int64_t)a.K * a.K * a.Ci;
    if (i >= (int64_t)a.N * a.H * a.W * a.Ci) return;
    const int ci = (int)(i % a.Ci), ix = (int)(i / a.Ci % a.W), iy = (int)(i / a.Ci / a.W % a.H);
    const int image = (int)(i / a.Ci / a.W / a.H);
    dg_pack<float, n> sum = {};
    for (int ky = (iy + a.P) % a.S; ky < a.K && ky <= iy + a.P; ky += a.S) {
        const int oy = (iy + a.P - ky) / a.S;
        if (oy >= a.Ho) continue;
        for (int kx = (ix + a.P) % a.S; kx < a.K && kx <= ix + a.P; kx += a.S) {
            const int ox = (ix + a.P - kx) / a.S;
            if (ox >= a.Wo) continue;
            const int64_t m = ((int64_t)image * a.Ho + oy) * a.Wo + ox;
            const dg_pack<float, n> v = dg_load<n>(patches + m * length + (ky * a.K + kx) * a.Ci + ci);
            for (int e = 0; e < n; e++) sum.v[e] += v.v[e];
        }
    }
    dg_store<n>((float *)a.x + i, sum);
}

static bool is_flat(const dg_conv_args *a) { return a->K == 1 && a->S == 1 && a->P == 0; }

template <int n> static void launch(bool fold, const dg_conv_args *a, float *patches, cudaStream_t stream)
{
    const int64_t inside = (int64_t)a->N * a->H * a->W * a->Ci,
                  unfolded = (int64_t)a->N * a->Ho * a->Wo * a->K * a->K * a->Ci;
    if (fold) KLAUNCH(fold_kernel<n>, dg_grid(inside / n, THREADS), dim3(THREADS), 0, stream, *a, patches);
    else KLAUNCH(unfold_kernel<n>, dg_grid(unfolded / n, THREADS), dim3(THREADS), 0, stream, *a, patches);
}

void dg_conv_cublas(dg_op_kind kind, const dg_conv_args *args, const dg_tune *, cudaStream_t stream)
{
    const dg_conv_args a = dg_conv_flat(args);
    const bool flat = is_flat(&a);
    float *x = (float *)a.x, *w = (float *)a.w, *y = (float *)a.y, *patches = flat ? x : (float *)a.scratch;
    const int m = a.N * a.Ho * a.Wo, k = a.K * a.K * a.Ci;
    if (!flat && kind != DG_OP_conv_dx)
        a.Ci % 4 ? launch<1>(false, &a, patches, stream) : launch<4>(false, &a, patches, stream);
    if (kind == DG_OP_conv_fwd) dg_cublas_gemm(y, patches, w, false, true, m, a.Co, k, stream);
    if (kind == DG_OP_conv_dw) dg_cublas_gemm(w, y, patches, true, false, a.Co, k, m, stream);
    if (kind != DG_OP_conv_dx) return;
    dg_cublas_gemm(patches, y, w, false, false, m, k, a.Co, stream);
    if (!flat) a.Ci % 4 ? launch<1>(true, &a, patches, stream) : launch<4>(true, &a, patches, stream);
}
