/* Division and square root without the compiler's branch for extreme operands. If all intermediate values are normal,
 * float results are correctly rounded. Callers must ensure that all intermediate values are normal. */
#pragma once

#include <float.h>

#include "kernels/dev/dev.cuh"

/* Returns a / b for |b| from 2^-126 to 2^126. The last bit may be wrong if the remainder is subnormal. */
static __device__ __forceinline__ float dg_quotient(float a, float b)
{
    const float near = near_reciprocal(b), r = fmaf(fmaf(-b, near, 1), near, near);
    const float q = a * r, better = fmaf(fmaf(-b, q, a), r, q);
    return fmaf(fmaf(-b, better, a), r, better);
}

/* Returns the square root of x >= 2^-126. The last bit may be wrong for x < 2^-101. Infinity and NaN give NaN. */
static __device__ __forceinline__ float dg_square_root(float x)
{
    const float r = near_reciprocal_root(x), root = x * r;
    return fmaf(fmaf(-root, root, x), r / 2, root);
}

/* Returns 1 / x for x from 2^-100 to 2^100. The error is at most one unit in the last place. */
static __device__ __forceinline__ double dg_reciprocal(double x)
{
    double r = near_reciprocal((float)x);
#pragma unroll
    for (int i = 0; i < 2; i++) r = fma(fma(-x, r, 1.0), r, r);
    return r;
}
static __device__ __forceinline__ double dg_quotient(double a, double b)
{
    const double r = dg_reciprocal(b), q = a * r;
    return fma(fma(-b, q, a), r, q);
}
static __device__ __forceinline__ double dg_reciprocal_root(double x)
{
    double r = near_reciprocal_root((float)x);
#pragma unroll
    for (int i = 0; i < 2; i++) r = fma(fma(-x * r, r, 1.0), r / 2, r);
    return r;
}
