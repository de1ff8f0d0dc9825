/* Optimisers over one network's flat weights: one launch each, bound by memory.
 *
 * Tile: a thread n weights (n = 1 direct, 4 vector; of double 2). Shared memory: 4 bytes. Registers: 32 to 96. Bound
 * by: memory, 12 (sgd) to 28 bytes (adadelta) a weight. Template parameters: rule, the optimiser; real, type of
 * weights; n, weights a thread. */
#include "kernels/ops/adam/adam.cuh"
#include "kernels/ops/update/sweep.cuh"

template <class real> struct factors {
    real rate, decay, momentum, rho, eps;
    int nesterov;
};

/* One step of each for one weight; g has its decay. See ops.h. */
struct sgd_rule {
    template <class real>
    static __device__ __forceinline__ void step(const factors<real> &f, real &p, real &, real &, real g)
    {
        p -= f.rate * g;
    }
};
struct momentum_rule {
    template <class real>
    static __device__ __forceinline__ void step(const factors<real> &f, real &p, real &m, real &, real g)
    {
        m = f.momentum * m + g;
        p -= f.rate * (f.nesterov ? g + f.momentum * m : m);
    }
};
struct adagrad_rule {
    template <class real>
    static __device__ __forceinline__ void step(const factors<real> &f, real &p, real &, real &v, real g)
    {
        v += g * g;
        p -= f.rate * g / (dg_root(v) + f.eps);
    }
};
struct adadelta_rule {
    template <class real>
    static __device__ __forceinline__ void step(const factors<real> &f, real &p, real &m, real &v, real g)
    {
        v = f.rho * v + (1 - f.rho) * (g * g);
        const real d = g * dg_root(m + f.eps) / dg_root(v + f.eps);
        m = f.rho * m + (1 - f.rho) * (d * d);
        p -= f.rate * d;
    }
};

template <class rule, class real, int n>
static __global__ void __launch_bounds__(sizeof(real) == 4 ? 1024 : 512, 1) update_kernel(const dg_update_args a)
{
    const factors<real> f = {
        (real)a.state->lr[a.net], (real)a.decay, (real)a.momentum, (real)a.rho, (real)a.eps, a.nesterov};
    real *const p = (real *)a.p, *const m = (real *)a.m, *const v = (real *)a.v; /* m, v: nullptr where there is none */
    unsigned broken = 0;
    const int64_t step = (int64_t)gridDim.x * blockDim.x * n;
    for (int64_t i = dg_thread() * n; i < a.n; i += step) {
        dg_pack<real, n> pp = dg_load<n>(p + i), mm = {}, vv = {};
        const dg_pack<real, n> g = dg_load<n>((const real *)a.g + i);
        if (m) mm = dg_load<n>(m + i);
        if (v) vv = dg_load<n>(v + i);
#pragma unroll
        for (int k = 0; k < n; k++) {
            rule::step(f, pp.v[k], mm.v[k], vv.v[k], i + k < a.decayed ? g.v[k] + f.decay * pp.v[k] : g.v[k]);
            broken += !isfinite(pp.v[k]);
        }
        dg_store<n>(p + i, pp);
        if (m) dg_store<n>(m + i, mm);
        if (v) dg_store<n>(v + i, vv);
    }
    dg_count_broken(a, broken);
}

template <class rule, class real, int n>
static void launch_as(const dg_update_args *a, const dg_tune *tune, cudaStream_t stream)
{
    KLAUNCH((update_kernel<rule, real, n>), dg_sweep_grid(a->n, n, tune->block), dim3(tune->block), 0, stream, *a);
}

template <class rule, class real> static void launch(const dg_update_args *a, const dg_tune *tune, cudaStream_t stream)
{
    dg_is_vector(tune) ? launch_as<rule, real, dg_wide<real>>(a, tune, stream)
                       : launch_as<rule, real, 1>(a, tune, stream);
}

template <class real> void dg_cuda_sgd(const dg_update_args *a, const dg_tune *tune, cudaStream_t stream)
{
    a->m ? launch<momentum_rule, real>(a, tune, stream) : launch<sgd_rule, real>(a, tune, stream);
}
DG_INSTANTIATE(sgd, update)

template <class real> void dg_cuda_adagrad(const dg_update_args *a, const dg_tune *tune, cudaStream_t stream)
{
    launch<adagrad_rule, real>(a, tune, stream);
}
DG_INSTANTIATE(adagrad, update)

template <class real> void dg_cuda_adadelta(const dg_update_args *a, const dg_tune *tune, cudaStream_t stream)
{
    launch<adadelta_rule, real>(a, tune, stream);
}
DG_INSTANTIATE(adadelta, update)
