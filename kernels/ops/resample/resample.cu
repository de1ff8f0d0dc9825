/* Resampling by 2.
 * Thread tile: 1 result (variant direct) or 4 channels (variant vector). Shared memory: none.
 * Bound by: memory; neighbouring threads read common pixels from L1 */
#include "kernels/dev/cuda.cuh"

/* Along one axis, a result reads `terms` input pixels from `first` on, each with its weight. */
template <bool up> struct resample_taps {
    static constexpr int terms = up ? 2 : 4;
    int first;
    bool odd;
    __device__ __forceinline__ explicit resample_taps(int at)
        : first(up ? (at + 1) / 2 - 1 : 2 * at - 1), odd(at % 2 != 0)
    {}
    __device__ __forceinline__ int weight(int k) const { return up ? (k == odd ? 1 : 3) : (k == 0 || k == 3 ? 1 : 3); }
};

template <class real, bool up>
static __global__ void resample_kernel(const dg_resample_args a, int64_t count, real factor, int width)
{
    const int H = up ? a.H : a.H2, W = up ? a.W : a.W2, rows = up ? a.H2 : a.H, cols = up ? a.W2 : a.W;
    dg_packed<real>(width, [&](auto n) {
        const int64_t i = dg_thread();
        if (i * n >= count) return;
        const int parts = a.C / n, c = (int)(i % parts) * n;
        const int64_t pixel = i / parts, image = pixel / cols / rows;
        const resample_taps<up> y((int)(pixel / cols % rows)), x((int)(pixel % cols));
        dg_pack<real, n> sum = {};
#pragma unroll
        for (int k = 0; k < y.terms; k++)
#pragma unroll
            for (int l = 0; l < x.terms; l++) {
                const int iy = y.first + k, ix = x.first + l;
                if (iy < 0 || iy >= H || ix < 0 || ix >= W) continue;
                const dg_pack<real, n> v = dg_load<n>((const real *)a.x + ((image * H + iy) * W + ix) * a.C + c);
                const real weight = (real)(y.weight(k) * x.weight(l));
                for (int j = 0; j < n; j++) sum.v[j] += weight * v.v[j];
            }
        for (int j = 0; j < n; j++) sum.v[j] *= factor;
        dg_store<n>((real *)a.y + i * n, sum);
    });
}

#define RESAMPLE(kind, rows, cols, up)                                                                              \
    template <class real> void dg_cuda_##kind(const dg_resample_args *a, const dg_tune *tune, cudaStream_t stream)  \
    {                                                                                                               \
        const int64_t count = (int64_t)a->N * a->rows * a->cols * a->C;                                             \
        const int width = dg_width<real>(tune);                                                                     \
        KLAUNCH((resample_kernel<real, up>), dg_grid(count / width, tune->block), dim3(tune->block), 0, stream, *a, \
                count, (real)dg_resample_factor(a, up), width);                                                     \
    }                                                                                                               \
    DG_INSTANTIATE(kind, resample)
RESAMPLE(resample_up, H2, W2, true)
RESAMPLE(resample_down, H, W, false)
