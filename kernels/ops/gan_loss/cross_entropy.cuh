/* One term of the cross entropy on logits, with equal bits in every kernel. */
#pragma once

#include "kernels/dev/cuda.cuh"
#include "kernels/dev/divide.cuh"

static __device__ __forceinline__ dg_loss_term dg_cross_entropy_of(double l, double target)
{
    const double e = exp(-fabs(l));
    const double larger = dg_quotient(1.0, 1 + e), less = dg_quotient(e, 1 + e);
    const double p = l < 0 ? less : larger, q = l < 0 ? larger : less;
    /* explicit fma, so that all kernels round equally */
    return {fma(-l, target, l > 0 ? l : 0.0) + log1p(e), p, fma(p, 1 - target, -(q * target))};
}
