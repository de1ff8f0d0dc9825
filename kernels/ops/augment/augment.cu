/* Differentiable augmentation and its adjoint. A change of contrast needs the image's mean and thus a second pass over
 * the image. If `back`, the kernel computes the adjoint.
 * Grid: one block per image. Thread: every blockDim'th pixel. Shared memory: 4 KB. Bound by: latency */
#include "kernels/dev/cuda.cuh"
#include "kernels/ops/augment/augment.h"

static constexpr int THREADS = 512;

struct augment_pixel {
    double v[DG_CHANNELS_MAX], mean;
};

template <class real>
static __device__ __forceinline__ augment_pixel pixel_of(const real *image, int from, const dg_augment_args &a)
{
    augment_pixel p = {};
    const int colours = dg_augment_colours(&a);
    double sum = 0;
#pragma unroll
    for (int c = 0; c < DG_CHANNELS_MAX; c++) {
        if (c >= a.C || from < 0) continue;
        p.v[c] = (double)image[(int64_t)from * a.C + c];
        sum += c < colours ? p.v[c] : 0;
    }
    p.mean = sum / colours;
    return p;
}

template <class real>
static __device__ __forceinline__ double mean_of(const real *in, const dg_augment_args &a, const dg_augmentation &g,
                                                 bool back)
{
    SHARED(double, of_thread, [THREADS]);
    const int pixels = a.H * a.W, t = (int)threadIdx.x;
    double sum = 0;
    for (int p = t; p < pixels; p += THREADS)
        sum += pixel_of(in, back ? dg_augment_to(&a, &g, p / a.W, p % a.W) : p, a).mean;
    of_thread[t] = sum;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (t < half) of_thread[t] += of_thread[t + half];
        __syncthreads();
    }
    return of_thread[0] / pixels;
}

template <class real>
static __global__ void __launch_bounds__(THREADS) augment_kernel(const dg_augment_args a, bool back)
{
    DEV_CHECK(blockDim.x == THREADS);
    const int pixels = a.H * a.W, colours = dg_augment_colours(&a);
    const int64_t first = (int64_t)blockIdx.x * pixels * a.C;
    const dg_augmentation g = dg_augment_of(&a, (int)blockIdx.x);
    const real *const in = (const real *)(back ? a.dy : a.x) + first;
    real *const out = (real *)(back ? a.dx : a.y) + first;
    const double mean = g.contrast != 1 ? mean_of(in, a, g, back) : 0;
    const double k = g.contrast, s = g.saturation;
    for (int p = (int)threadIdx.x; p < pixels; p += THREADS) {
        const int y = p / a.W, x = p % a.W, from = back ? dg_augment_to(&a, &g, y, x) : dg_augment_from(&a, &g, y, x);
        const augment_pixel own = pixel_of(in, from, a);
        const double rest = k * (1 - s) * own.mean + (1 - k) * mean + (back ? 0 : g.bias);
#pragma unroll
        for (int c = 0; c < DG_CHANNELS_MAX; c++) {
            if (c >= a.C) continue;
            const double colour = c < colours ? k * s * own.v[c] + rest : own.v[c];
            out[(int64_t)p * a.C + c] = (real)(from < 0 && (!back || c >= colours) ? 0 : colour);
        }
    }
}

template <class real> void dg_cuda_augment(const dg_augment_args *a, const dg_tune *, cudaStream_t stream)
{
    KLAUNCH(augment_kernel<real>, dim3((unsigned)a->N), dim3(THREADS), 0, stream, *a, false);
}
DG_INSTANTIATE(augment, augment)

template <class real> void dg_cuda_augment_dx(const dg_augment_args *a, const dg_tune *, cudaStream_t stream)
{
    KLAUNCH(augment_kernel<real>, dim3((unsigned)a->N), dim3(THREADS), 0, stream, *a, true);
}
DG_INSTANTIATE(augment_dx, augment)
