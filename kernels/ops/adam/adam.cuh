/* One step of Adam for one weight. Op adam and the fused update share this code, so their results are equal in every
 * bit. */
#pragma once

#include "kernels/dev/cuda.cuh"
#include "kernels/dev/divide.cuh"

static __device__ __forceinline__ float dg_root(float x) { return sqrtf(x); }
static __device__ __forceinline__ double dg_root(double x) { return sqrt(x); }

template <class real> struct dg_adam_factors {
    real rate, unbias, eps, new1, keep2, new2;
};

/* Returns Adam's step, rate m / (sqrt(v) unbias + eps). If v is infinite, the weight does not change. */
static __device__ __forceinline__ float dg_adam_move(const dg_adam_factors<float> &f, float m, float v)
{
    const float below = dg_square_root(fmaxf(v, FLT_MIN)) * f.unbias + f.eps;
    return dg_quotient(f.rate * m, fminf(below, 0x1p126f)); /* fminf() ignores a NaN */
}
static __device__ __forceinline__ double dg_adam_move(const dg_adam_factors<double> &f, double m, double v)
{
    return f.rate * m / (dg_root(v) * f.unbias + f.eps);
}

/* Computes the powers of beta1 and beta2 by squaring, which is faster than pow(). */
template <class real>
static __device__ __forceinline__ dg_adam_factors<real> dg_adam_factors_of(const dg_adam_args &a, uint64_t step)
{
    dg_adam_factors<real> f;
    double power1 = 1, power2 = 1, square1 = a.beta1, square2 = a.state->beta2;
#pragma unroll 1
    for (uint64_t t = step + 1; t; t >>= 1) {
        if (t & 1) power1 *= square1, power2 *= square2;
        square1 *= square1, square2 *= square2;
    }
    f.rate = (real)(a.state->lr[a.net] * dg_reciprocal(1 - power1));
    f.unbias = (real)dg_reciprocal_root(1 - power2);
    f.eps = (real)a.eps;
    f.new1 = (real)(1 - a.beta1);
    f.keep2 = (real)a.state->beta2;
    f.new2 = (real)(1 - a.state->beta2);
    return f;
}

/* Updates n weights. Returns the number of weights that are not finite. */
template <class real, int n>
static __device__ __forceinline__ unsigned dg_adam_step(const dg_adam_factors<real> &f, dg_pack<real, n> &p,
                                                        dg_pack<real, n> &m, dg_pack<real, n> &v,
                                                        const dg_pack<real, n> &g)
{
    real all = 0;
#pragma unroll
    for (int k = 0; k < n; k++) {
        m.v[k] += f.new1 * (g.v[k] - m.v[k]);
        v.v[k] = f.keep2 * v.v[k] + f.new2 * (g.v[k] * g.v[k]);
        p.v[k] -= dg_adam_move(f, m.v[k], v.v[k]);
        all += 0 * p.v[k];
    }
    if (all == 0) return 0;
    unsigned broken = 0;
#pragma unroll 1
    for (int k = 0; k < n; k++) broken += !isfinite(p.v[k]);
    return broken;
}
