/* Random latents z, from cuRAND's Philox.
 * Thread tile: 4 normal numbers. Shared memory: none.
 * Bound by: the launch, because a step has only a few thousand numbers */
#define DEV_RANDOM
#include "kernels/dev/cuda.cuh"

template <class real> static __global__ void noise_kernel(const dg_noise_args a)
{
    const int64_t block = a.first / 4 + dg_thread(), at = 4 * block - a.first; /* at < 0: skip values of the block */
    if (at >= a.n) return;
    const uint64_t step = a.stream == DG_STREAM_NOISE ? a.state->step : a.first_step;
    const float4 normal = dev_normal4(a.state->seed, dg_subsequence(a.stream, step), (uint64_t)block);
    real *z = (real *)a.z;
    if (at >= 0) z[at] = (real)normal.x;
    if (at + 1 >= 0 && at + 1 < a.n) z[at + 1] = (real)normal.y;
    if (at + 2 >= 0 && at + 2 < a.n) z[at + 2] = (real)normal.z;
    if (at + 3 < a.n) z[at + 3] = (real)normal.w;
}

template <class real> void dg_cuda_noise(const dg_noise_args *a, const dg_tune *tune, cudaStream_t stream)
{
    KLAUNCH(noise_kernel<real>, dg_grid((a->first + a->n - 1) / 4 - a->first / 4 + 1, tune->block), dim3(tune->block),
            0, stream, *a);
}
DG_INSTANTIATE(noise, noise)
