/* Division and square root of floats without the branch for operands at the ends of the range: what the compiler
 * makes of `/` and sqrtf() has it, with a call behind it, and that is most of their code. Results are the same,
 * correctly rounded, as long as no step leaves the normal numbers; what else there is callers keep away. */
#ifndef DG_DIVIDE_CUH
#define DG_DIVIDE_CUH

#include <float.h>

#include "kernels/dev/dev.cuh"

/* a / b; b: of 2^-126 to 2^126 in size. Where a / b is so small that what is left over is no normal number it may be
 * rounded the other way. */
static __device__ __forceinline__ float dg_quotient(float a, float b)
{
    const float near = near_reciprocal(b), r = fmaf(fmaf(-b, near, 1), near, near);
    const float q = a * r, better = fmaf(fmaf(-b, q, a), r, q);
    return fmaf(fmaf(-b, better, a), r, better);
}

/* x: from 2^-126 on; below 2^-101 it may be rounded the other way. Infinity and NaN give NaN. */
static __device__ __forceinline__ float dg_square_root(float x)
{
    const float r = near_reciprocal_root(x), root = x * r;
    return fmaf(fmaf(-root, root, x), r / 2, root);
}

/* The same in double from a float's: two steps of Newton's, right but for the last bit. x: 2^-100 to 2^100. */
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

#endif
