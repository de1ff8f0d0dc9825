/* Adam over the flat weights of one network, in one launch.
 * Thread tile: 1 weight (variant direct) or 4 weights (variant vector). Shared memory: 40 bytes (double: 64).
 * Bound by: memory, 28 bytes per weight */
#include "kernels/ops/adam/adam.cuh"
#include "kernels/ops/update/sweep.cuh"

template <class real>
static __global__ void __launch_bounds__(sizeof(real) == 4 ? 1024 : 512) adam_kernel(const dg_adam_args a, int width)
{
    SHARED(dg_adam_factors<real>, factors, );
    if (threadIdx.x == 0) factors = dg_adam_factors_of<real>(a, a.state->step);
    __syncthreads();
    const dg_adam_factors<real> f = factors;
    real *p = (real *)a.p, *m = (real *)a.m, *v = (real *)a.v;
    const real *g = (const real *)a.g;
    unsigned broken = 0;
    dg_packed<real>(width, [&](auto n) {
        const int64_t step = (int64_t)gridDim.x * blockDim.x * n;
        for (int64_t i = dg_thread() * n; i < a.n; i += step) {
            dg_pack<real, n> pp = dg_load<n>(p + i), mm = dg_load<n>(m + i), vv = dg_load<n>(v + i);
            const dg_pack<real, n> gg = dg_load<n>(g + i);
            broken += dg_adam_step<real, n>(f, pp, mm, vv, gg);
            dg_store<n>(p + i, pp);
            dg_store<n>(m + i, mm);
            dg_store<n>(v + i, vv);
        }
    });
    dg_count_broken(a, broken);
}

template <class real> void dg_cuda_adam(const dg_adam_args *a, const dg_tune *tune, cudaStream_t stream)
{
    const int width = dg_width<real>(tune);
    KLAUNCH(adam_kernel<real>, dg_sweep_grid(a->n, width, tune->block), dim3(tune->block), 0, stream, *a, width);
}
DG_INSTANTIATE(adam, adam)
