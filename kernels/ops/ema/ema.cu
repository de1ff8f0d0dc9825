/* Running averages of weights, in one launch.
 * Thread tile: 1 weight (variant direct) or 4 weights (variant vector). Shared memory: none.
 * Bound by: memory, 12 bytes per weight */
#include "kernels/ops/update/sweep.cuh"

template <class real> static __global__ void __launch_bounds__(1024) ema_kernel(const dg_ema_args a, int width)
{
    const real fresh = (real)dg_ema_fresh(&a);
    real *const average = (real *)a.average;
    dg_packed<real>(width, [&](auto n) {
        const int64_t step = (int64_t)gridDim.x * blockDim.x * n;
        for (int64_t i = dg_thread() * n; i < a.n; i += step) {
            dg_pack<real, n> v = dg_load<n>(average + i);
            const dg_pack<real, n> p = dg_load<n>((const real *)a.p + i);
#pragma unroll
            for (int k = 0; k < n; k++) v.v[k] = fresh >= 1 ? p.v[k] : v.v[k] + fresh * (p.v[k] - v.v[k]);
            dg_store<n>(average + i, v);
        }
    });
}

template <class real> void dg_cuda_ema(const dg_ema_args *a, const dg_tune *tune, cudaStream_t stream)
{
    const int width = dg_width<real>(tune);
    KLAUNCH(ema_kernel<real>, dg_sweep_grid(a->n, width, tune->block), dim3(tune->block), 0, stream, *a, width);
}
DG_INSTANTIATE(ema, ema)
