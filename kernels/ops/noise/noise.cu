/* Random latents z, from cuRAND's Philox.
 * Thread tile: 4 normal numbers. Shared memory: none.
 * Bound by: the launch, because a step has only a few thousand numbers */
#define DEV_RANDOM
#include "kernels/dev/cuda.cuh"

template <class real> static __global__ void noise_kernel(const dg_noise_args a)
{
    const int64_t at = dg_thread() * 4;
    if (at >= a.n) return;
    const uint64_t step = a.stream == DG_STREAM_NOISE ? a.state->step : a.first_step;
    const float4 normal = dev_normal4(a.state->seed, dg_subsequence(a.stream, step), (uint64_t)at / 4);
    real *z = (real *)a.z + at;
    z[0] = (real)normal.x;
    if (at + 1 < a.n) z[1] = (real)normal.y;
    if (at + 2 < a.n) z[2] = (real)normal.z;
    if (at + 3 < a.n) z[3] = (real)normal.w;
}

template <class real> void dg_cuda_noise(const dg_noise_args *a, const dg_tune *tune, cudaStream_t stream)
{
    KLAUNCH(noise_kernel<real>, dg_grid(dg_div_up<int64_t>(a->n, 4), tune->block), dim3(tune->block), 0, stream, *a);
}
DG_INSTANTIATE(noise, noise)
