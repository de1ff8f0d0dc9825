/* Activations without a norm: backward, and forward for a tensor, a sum of two tensors, or a tensor with a bias.
 * Thread tile: 1 value (variant direct) or 16 bytes (variant vector). Shared memory: none.
 * Bound by: memory, 8 bytes per value forward, 12 bytes backward and for a sum */
#include "kernels/ops/act/act.cuh"

/* `out` may be equal to `in` or `other`. Except for the bias, a thread reads only the elements that it writes. */
template <class real> static __global__ void act_kernel(const dg_act_sweep s, dg_act act, real factor, int width)
{
    dg_packed<real>(width, [&](auto n) {
        const int64_t i = dg_thread() * n;
        if (i >= s.count) return;
        const real *const other = (const real *)s.other;
        dg_pack<real, n> v = dg_load<n>((const real *)s.in + i), w = {};
        if (other) w = dg_load<n>(other + (s.period ? (unsigned)i % (unsigned)s.period : i));
        for (int k = 0; k < n; k++) {
            if (s.back) v.v[k] = dg_act_dx_of(v.v[k], w.v[k], act, factor);
            else v.v[k] = dg_act_of(other ? v.v[k] + w.v[k] : v.v[k], act, factor);
        }
        dg_store<n>((real *)s.out + i, v);
    });
}

template <class real>
void dg_cuda_act_sweep(const dg_act_sweep *s, dg_act act, double slope, const dg_tune *tune, cudaStream_t stream)
{
    const int width = dg_width<real>(tune);
    KLAUNCH(act_kernel<real>, dg_grid(s->count / width, tune->block), dim3(tune->block), 0, stream, *s, act,
            (real)dg_act_factor(act, slope), width);
}
template void dg_cuda_act_sweep<float>(const dg_act_sweep *, dg_act, double, const dg_tune *, cudaStream_t);
template void dg_cuda_act_sweep<double>(const dg_act_sweep *, dg_act, double, const dg_tune *, cudaStream_t);

template <class real> void dg_cuda_act(const dg_act_args *a, const dg_tune *tune, cudaStream_t stream)
{
    const dg_act_sweep s = {a->y, a->x, nullptr, a->n, 0, false};
    dg_cuda_act_sweep<real>(&s, a->act, a->slope, tune, stream);
}
DG_INSTANTIATE(act, act)

template <class real> void dg_cuda_act_dx(const dg_act_args *a, const dg_tune *tune, cudaStream_t stream)
{
    const dg_act_sweep s = {a->dx, a->dy, a->y, a->n, 0, true};
    dg_cuda_act_sweep<real>(&s, a->act, a->slope, tune, stream);
}
DG_INSTANTIATE(act_dx, act)

template <class real> void dg_cuda_add(const dg_add_args *a, const dg_tune *tune, cudaStream_t stream)
{
    const dg_act_sweep s = {a->y, a->a, a->b, a->n, 0, false};
    dg_cuda_act_sweep<real>(&s, a->act, a->slope, tune, stream);
}
DG_INSTANTIATE(add, add)
