/* Ops of class-conditional GANs, one thread per value of the result.
 * Bound by: the launch, because the tensors have a few thousand values */
#include "kernels/dev/cuda.cuh"

template <class real> static __global__ void onehot_kernel(const dg_onehot_args a)
{
    const int64_t i = dg_thread();
    if (i >= (int64_t)a.N * a.width) return;
    const int n = (int)((unsigned)i / (unsigned)a.width), k = (int)((unsigned)i % (unsigned)a.width);
    ((real *)a.y)[i] = k < a.latent ? ((const real *)a.z)[(int64_t)n * a.latent + k]
                                    : (real)(k - a.latent == a.label[n]);
}

template <class real> void dg_cuda_onehot(const dg_onehot_args *a, const dg_tune *tune, cudaStream_t stream)
{
    KLAUNCH(onehot_kernel<real>, dg_grid((int64_t)a->N * a->width, tune->block), dim3(tune->block), 0, stream, *a);
}
DG_INSTANTIATE(onehot, onehot)

template <class real> static __device__ real weight(const dg_pick_args &a)
{
    return (real)(a.state ? a.state->classes : 1);
}

template <class real> static __global__ void pick_kernel(const dg_pick_args a)
{
    const int64_t n = dg_thread();
    if (n >= a.N) return;
    const real *x = (const real *)a.x + n * a.width;
    ((real *)a.y)[n] = x[a.width - 1] + weight<real>(a) * x[a.label[n % a.labels]];
}

template <class real> void dg_cuda_pick(const dg_pick_args *a, const dg_tune *tune, cudaStream_t stream)
{
    KLAUNCH(pick_kernel<real>, dg_grid(a->N, tune->block), dim3(tune->block), 0, stream, *a);
}
DG_INSTANTIATE(pick, pick)

template <class real> static __global__ void pick_dx_kernel(const dg_pick_args a)
{
    const int64_t i = dg_thread();
    if (i >= (int64_t)a.N * a.width) return;
    const int n = (int)((unsigned)i / (unsigned)a.width), c = (int)((unsigned)i % (unsigned)a.width);
    const real dy = ((const real *)a.dy)[n];
    ((real *)a.dx)[i] = c == a.width - 1 ? dy : c == a.label[n % a.labels] ? weight<real>(a) * dy : (real)0;
}

template <class real> void dg_cuda_pick_dx(const dg_pick_args *a, const dg_tune *tune, cudaStream_t stream)
{
    KLAUNCH(pick_dx_kernel<real>, dg_grid((int64_t)a->N * a->width, tune->block), dim3(tune->block), 0, stream, *a);
}
DG_INSTANTIATE(pick_dx, pick)
