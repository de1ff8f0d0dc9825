/* Activation functions of one value, for CUDA kernels. */
#pragma once

#include "kernels/dev/cuda.cuh"

static __device__ __forceinline__ float dg_tanh_of(float x) { return tanhf(x); }
static __device__ __forceinline__ double dg_tanh_of(double x) { return tanh(x); }

template <class real> static __device__ __forceinline__ real dg_act_of(real z, dg_act act, real factor)
{
    switch (act) {
    case DG_ACT_TANH: return dg_tanh_of(z);
    case DG_ACT_NONE:
    case DG_ACT_RELU:
    case DG_ACT_LEAKY: break;
    }
    return z > 0 ? z : factor * z;
}

template <class real> static __device__ __forceinline__ real dg_act_dx_of(real dy, real y, dg_act act, real factor)
{
    switch (act) {
    case DG_ACT_TANH: return dy * ((1 - y) * (1 + y)); /* 1 - y^2 without cancellation near 1 */
    case DG_ACT_NONE:
    case DG_ACT_RELU:
    case DG_ACT_LEAKY: break;
    }
    return dy * (y > 0 ? 1 : factor);
}

/* The forward pass computes out = act(in + other), or act(in) if other is NULL. The backward pass computes out = in *
 * act', and other is y. */
struct dg_act_sweep {
    void *out;
    const void *in, *other;
    int64_t count;
    int period;
    bool back;
};
template <class real>
void dg_cuda_act_sweep(const dg_act_sweep *s, dg_act act, double slope, const dg_tune *tune, cudaStream_t stream);
