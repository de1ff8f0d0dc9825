/* Activations without a norm, of a tensor, backward, and of a sum of two: one thread a value (direct) or 16 bytes of
 * values (vector).
 *
 * Tile: a thread n values (n = 1, or 16 bytes of them). Shared memory: none. Registers: 11 to 24. Bound by: memory, 8
 * bytes a value forward, 12 backward and of a sum. Template parameters: real, type of the values; n, values a thread.
 */
#include "kernels/ops/act/act.cuh"

/* y may be x: every thread reads what it writes, and nothing else. */
template <class real, int n>
static __global__ void act_kernel(real *y, const real *x, int64_t count, bool is_tanh, real factor)
{
    const int64_t i = dg_thread() * n;
    if (i >= count) return;
    dg_pack<real, n> v = dg_load<n>(x + i);
    for (int k = 0; k < n; k++) v.v[k] = dg_act_of(v.v[k], is_tanh, factor);
    dg_store<n>(y + i, v);
}

template <class real, int n>
static __global__ void act_dx_kernel(real *dx, const real *dy, const real *y, int64_t count, bool is_tanh, real factor)
{
    const int64_t i = dg_thread() * n;
    if (i >= count) return;
    dg_pack<real, n> d = dg_load<n>(dy + i), v = dg_load<n>(y + i);
    for (int k = 0; k < n; k++) d.v[k] = dg_act_dx_of(d.v[k], v.v[k], is_tanh, factor);
    dg_store<n>(dx + i, d);
}

/* y may be a or b. */
template <class real, int n>
static __global__ void add_kernel(real *y, const real *a, const real *b, int64_t count, bool is_tanh, real factor)
{
    const int64_t i = dg_thread() * n;
    if (i >= count) return;
    dg_pack<real, n> v = dg_load<n>(a + i), w = dg_load<n>(b + i);
    for (int k = 0; k < n; k++) v.v[k] = dg_act_of(v.v[k] + w.v[k], is_tanh, factor);
    dg_store<n>(y + i, v);
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

template <class real, int n> static void launch_add(const dg_add_args *a, const dg_tune *tune, cudaStream_t stream)
{
    KLAUNCH((add_kernel<real, n>), dg_grid(a->n / n, tune->block), dim3(tune->block), 0, stream, (real *)a->y,
            (const real *)a->a, (const real *)a->b, a->n, a->act == DG_ACT_TANH, dg_below_zero<real>(a->act, a->slope));
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

template <class real> void dg_cuda_add(const dg_add_args *a, const dg_tune *tune, cudaStream_t stream)
{
    dg_is_vector(tune) ? launch_add<real, dg_wide<real>>(a, tune, stream) : launch_add<real, 1>(a, tune, stream);
}
DG_INSTANTIATE(add, add)
