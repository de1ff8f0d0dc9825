/* Activations of the CUDA kernels, a value at a time. */
#ifndef DG_ACT_CUH
#define DG_ACT_CUH

#include "kernels/dev/cuda.cuh"

static __device__ __forceinline__ float dg_tanh_of(float x) { return tanhf(x); }
static __device__ __forceinline__ double dg_tanh_of(double x) { return tanh(x); }

/* factor: dg_below_zero() of the activation. */
template <class real> static __device__ __forceinline__ real dg_act_of(real z, bool is_tanh, real factor)
{
    return is_tanh ? dg_tanh_of(z) : z > 0 ? z : factor * z;
}

/* The gradient before the activation, from y = act(z) and that behind it. */
template <class real> static __device__ __forceinline__ real dg_act_dx_of(real dy, real y, bool is_tanh, real factor)
{
    /* 1 - y^2 without cancelling where y is near 1 */
    const real slope = is_tanh ? (1 - y) * (1 + y) : y > 0 ? 1 : factor;
    return dy * slope;
}

/* out = act(in + other); without an other act(in). back: out = in through the gradient of act, whose result is other.
 */
struct dg_act_sweep {
    void *out;
    const void *in, *other;
    int64_t count;
    int period; /* 0, or other has so many values, again and again: a bias */
    bool back;
};
template <class real>
void dg_cuda_act_sweep(const dg_act_sweep *s, dg_act act, double slope, const dg_tune *tune, cudaStream_t stream);

#endif
