/* Optimizers for the flat weights of one network. Each op is one launch.
 * Thread tile: 1 weight (variant direct) or 4 weights (variant vector). Shared memory: 4 bytes.
 * Bound by: memory, 12 (sgd) to 28 bytes (adadelta) per weight */
#include "kernels/ops/adam/adam.cuh"
#include "kernels/ops/update/sweep.cuh"

template <class real> struct factors {
    real rate, decay, momentum, rho, eps;
    int nesterov;
};

enum update_rule { SGD, MOMENTUM, ADAGRAD, ADADELTA };

/* Updates one weight. g includes the weight decay. */
template <class real>
static __device__ __forceinline__ void update_step(update_rule rule, const factors<real> &f, real &p, real &m, real &v,
                                                   real g)
{
    switch (rule) {
    case SGD: p -= f.rate * g; return;
    case MOMENTUM:
        m = f.momentum * m + g;
        p -= f.rate * (f.nesterov ? g + f.momentum * m : m);
        return;
    case ADAGRAD:
        v += g * g;
        p -= f.rate * g / (dg_root(v) + f.eps);
        return;
    case ADADELTA:
        v = f.rho * v + (1 - f.rho) * (g * g);
        const real d = g * dg_root(m + f.eps) / dg_root(v + f.eps);
        m = f.rho * m + (1 - f.rho) * (d * d);
        p -= f.rate * d;
    }
}

template <class real>
static __global__ void __launch_bounds__(sizeof(real) == 4 ? 1024 : 512, 1)
    update_kernel(const dg_update_args a, update_rule rule, int width)
{
    const factors<real> f = {
        (real)a.state->lr[a.net], (real)a.decay, (real)a.momentum, (real)a.rho, (real)a.eps, a.nesterov};
    real *const p = (real *)a.p, *const m = (real *)a.m, *const v = (real *)a.v; /* m, v: nullptr if unused */
    unsigned broken = 0;
    dg_packed<real>(width, [&](auto n) {
        const int64_t step = (int64_t)gridDim.x * blockDim.x * n;
        for (int64_t i = dg_thread() * n; i < a.n; i += step) {
            dg_pack<real, n> pp = dg_load<n>(p + i), mm = {}, vv = {};
            const dg_pack<real, n> g = dg_load<n>((const real *)a.g + i);
            if (m) mm = dg_load<n>(m + i);
            if (v) vv = dg_load<n>(v + i);
#pragma unroll
            for (int k = 0; k < n; k++) {
                update_step(rule, f, pp.v[k], mm.v[k], vv.v[k],
                            i + k < a.decayed ? g.v[k] + f.decay * pp.v[k] : g.v[k]);
                broken += !isfinite(pp.v[k]);
            }
            dg_store<n>(p + i, pp);
            if (m) dg_store<n>(m + i, mm);
            if (v) dg_store<n>(v + i, vv);
        }
    });
    dg_count_broken(a, broken);
}

template <class real>
static void launch(update_rule rule, const dg_update_args *a, const dg_tune *tune, cudaStream_t stream)
{
    const int width = dg_width<real>(tune);
    KLAUNCH(update_kernel<real>, dg_sweep_grid(a->n, width, tune->block), dim3(tune->block), 0, stream, *a, rule,
            width);
}

template <class real> void dg_cuda_sgd(const dg_update_args *a, const dg_tune *tune, cudaStream_t stream)
{
    launch<real>(a->m ? MOMENTUM : SGD, a, tune, stream);
}
DG_INSTANTIATE(sgd, update)

template <class real> void dg_cuda_adagrad(const dg_update_args *a, const dg_tune *tune, cudaStream_t stream)
{
    launch<real>(ADAGRAD, a, tune, stream);
}
DG_INSTANTIATE(adagrad, update)

template <class real> void dg_cuda_adadelta(const dg_update_args *a, const dg_tune *tune, cudaStream_t stream)
{
    launch<real>(ADADELTA, a, tune, stream);
}
DG_INSTANTIATE(adadelta, update)
