/* Activations of the CPU kernels, a value at a time; for loops that vectorise. */
#ifndef DG_ACT_H
#define DG_ACT_H

#include <string.h>

#include "kernels/cpu/cpu.h"

/* tanh(x) = q / (q + 2) with q = exp(2x) - 1, for |x|: no cancellation, no branch, so it vectorises, and one
 * libm's version does not decide the bits. exp(2x) - 1 = s (exp(r) - 1) + (s - 1), s = 2^k, |r| <= ln 2 / 2; the
 * series ends where its next term is below half an ulp. */
#if DG_FP == 64
typedef uint64_t bits;
#define MAGIC 0x1.8p52
#define LOG2E 0x1.71547652b82fep0
#define LN2_HI 0x1.62e42feep-1 /* few enough bits that k times it is exact */
#define LN2_LO 0x1.a39ef35793c76p-33
#define LIMIT 19.1 /* tanh of it rounds to 1 */
enum { MANTISSA = 52, BIAS = 1023 };
#else
typedef uint32_t bits;
#define MAGIC 0x1.8p23f
#define LOG2E 0x1.715476p0f
#define LN2_HI 0x1.62e4p-1f
#define LN2_LO 0x1.7f7d1cp-20f
#define LIMIT 9.1f
enum { MANTISSA = 23, BIAS = 127 };
#endif

static inline real from_bits(bits b)
{
    real r;
    memcpy(&r, &b, sizeof r);
    return r;
}

static inline bits to_bits(real r)
{
    bits b;
    memcpy(&b, &r, sizeof b);
    return b;
}

static inline real tanh_of(real x)
{
    const bits sign = (bits)1 << (sizeof(bits) * 8 - 1);
    real t = from_bits(to_bits(x) & ~sign);
    t = t > LIMIT ? LIMIT : t; /* NaN stays */
    t += t;
    real shifted = t * LOG2E + MAGIC, k = shifted - MAGIC;
    real r = (t - k * LN2_HI) - k * LN2_LO;
#if DG_FP == 64
    real p = 1 / 6227020800.0; /* 1/13! */
    p = p * r + 1 / 479001600.0;
    p = p * r + 1 / 39916800.0;
    p = p * r + 1 / 3628800.0;
    p = p * r + 1 / 362880.0;
    p = p * r + 1 / 40320.0;
    p = p * r + 1 / 5040.0;
#else
    real p = 1 / 5040.0f;
#endif
    p = p * r + (real)(1 / 720.0);
    p = p * r + (real)(1 / 120.0);
    p = p * r + (real)(1 / 24.0);
    p = p * r + (real)(1 / 6.0);
    p = p * r + (real)0.5;
    p = p * (r * r) + r;
    real s = from_bits((to_bits(shifted) << MANTISSA) + ((bits)BIAS << MANTISSA));
    real q = s * p + (s - 1);
    return from_bits(to_bits(q / (q + 2)) | (to_bits(x) & sign));
}

/* relu, leaky and none are one function: z above 0, factor * z at and below (NaN stays NaN). */
static inline real below_zero(dg_act act, double slope)
{
    return act == DG_ACT_RELU ? 0 : act == DG_ACT_LEAKY ? (real)slope : 1;
}

static inline real act_of(real z, real factor) { return z > 0 ? z : factor * z; }

/* The gradient before the activation, from y = act(z) and that behind it. */
static inline real act_dx_of(real dy, real y, real factor) { return y > 0 ? dy : factor * dy; }
static inline real tanh_dx_of(real dy, real y) { return dy * ((1 - y) * (1 + y)); } /* 1 - y^2, near 1 too */

#endif
