/* Running averages of weights: one launch, bound by memory.
 *
 * Tile: a thread n weights (n = 1 direct, 4 vector; of double 2). Shared memory: none. Registers: 26 to 34. Bound by:
 * memory, 12 bytes a weight. Template parameters: real, type of weights; n, weights a thread. */
#include "kernels/ops/update/sweep.cuh"
extern "C" {
#include "kernels/ops/ema/ema.h"
}

template <class real, int n> static __global__ void __launch_bounds__(1024) ema_kernel(const dg_ema_args a)
{
    const real fresh = (real)dg_ema_fresh(&a);
    real *const average = (real *)a.average;
    const int64_t step = (int64_t)gridDim.x * blockDim.x * n;
    for (int64_t i = dg_thread() * n; i < a.n; i += step) {
        dg_pack<real, n> v = dg_load<n>(average + i);
        const dg_pack<real, n> p = dg_load<n>((const real *)a.p + i);
#pragma unroll
        for (int k = 0; k < n; k++) v.v[k] = fresh >= 1 ? p.v[k] : v.v[k] + fresh * (p.v[k] - v.v[k]);
        dg_store<n>(average + i, v);
    }
}

template <class real, int n> static void launch(const dg_ema_args *a, const dg_tune *tune, cudaStream_t stream)
{
    KLAUNCH((ema_kernel<real, n>), dg_sweep_grid(a->n, n, tune->block), dim3(tune->block), 0, stream, *a);
}

template <class real> void dg_cuda_ema(const dg_ema_args *a, const dg_tune *tune, cudaStream_t stream)
{
    dg_is_vector(tune) ? launch<real, dg_wide<real>>(a, tune, stream) : launch<real, 1>(a, tune, stream);
}
DG_INSTANTIATE(ema, ema)
