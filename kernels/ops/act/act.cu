/* Activations without a norm: one thread a value (direct) or 16 bytes of values (vector).
 *
 * Tile: a thread n values (n = 1, or 16 bytes of them). Shared memory: none. Registers: 11 to 24. Bound by: memory, 8
 * bytes a value forward, 12 backward. Template parameters: real, type of the values; n, values a thread. */
#include "kernels/dev/cuda.cuh"

static __device__ __forceinline__ float tanh_of(float x) { return tanhf(x); }
static __device__ __forceinline__ double tanh_of(double x) { return tanh(x); }

/* y may be x: every thread reads what it writes, and nothing else. */
template <class real, int n>
static __global__ void act_kernel(real *y, const real *x, int64_t count, bool is_tanh, real factor)
{
    const int64_t i = dg_thread() * n;
    if (i >= count) return;
    dg_pack<real, n> v = dg_load<n>(x + i);
    for (int k = 0; k < n; k++) v.v[k] = is_tanh ? tanh_of(v.v[k]) : v.v[k] > 0 ? v.v[k] : factor * v.v[k];
    dg_store<n>(y + i, v);
}

template <class real, int n>
static __global__ void act_dx_kernel(real *dx, const real *dy, const real *y, int64_t count, bool is_tanh, real factor)
{
    const int64_t i = dg_thread() * n;
    if (i >= count) return;
    dg_pack<real, n> d = dg_load<n>(dy + i), v = dg_load<n>(y + i);
    for (int k = 0; k < n; k++) {
        /* 1 - y^2 without cancelling where y is near 1 */
        const real slope = is_tanh ? (1 - v.v[k]) * (1 + v.v[k]) : v.v[k] > 0 ? 1 : factor;
        d.v[k] *= slope;
    }
    dg_store<n>(dx + i, d);
}

template <class real, int n> static void launch_act(const dg_act_args *a, const dg_tune *tune, cudaStream_t stream)
{
    KLAUNCH((act_kernel<real, n>), dg_grid(a->n / n, tune->block), dim3(tune->block), 0, stream, (real *)a->y,
            (const real *)a->x, a->n, a->act == DG_ACT_TANH, dg_below_zero<real>(a->act, a->slope));
}

template <class real, int n> static void launch_act_dx(const dg_act_args *a, const dg_tune *tune, cudaStream_t stream)
{
    KLAUNCH((act_dx_kernel<real, n>), dg_grid(a->n / n, tune->block), dim3(tune->block), 0, stream, (real *)a->dx,
            (const real *)a->dy, (const real *)a->y, a->n, a->act == DG_ACT_TANH,
            dg_below_zero<real>(a->act, a->slope));
}

template <class real> void dg_cuda_act(const dg_act_args *a, const dg_tune *tune, cudaStream_t stream)
{
    dg_is_vector(tune) ? launch_act<real, dg_wide<real>>(a, tune, stream) : launch_act<real, 1>(a, tune, stream);
}
DG_INSTANTIATE(act, act)

template <class real> void dg_cuda_act_dx(const dg_act_args *a, const dg_tune *tune, cudaStream_t stream)
{
    dg_is_vector(tune) ? launch_act_dx<real, dg_wide<real>>(a, tune, stream) : launch_act_dx<real, 1>(a, tune, stream);
}
DG_INSTANTIATE(act_dx, act)
