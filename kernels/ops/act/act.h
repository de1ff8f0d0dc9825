/* Activation functions of one value, for loops of CPU kernels that vectorise. */
#pragma once

#include <math.h>
#include <string.h>

#include "kernels/cpu/cpu.h"

/* Computes tanh(|x|) = q / (q + 2) with q = exp(2 |x|) - 1, and copies the sign of x. The formula has no cancellation
 * and no branch, so loops vectorise. The result does not depend on libm.
 * The integer k is chosen so that r = 2 |x| - k ln 2 is near 0. With s = 2^k, q = s (exp(r) - 1) + (s - 1). The series
 * of exp(r) - 1 ends when its next term is below half an ulp. */
#if DG_FP == 64
typedef uint64_t bits;
#define MAGIC 0x1.8p52
#define LOG2E 0x1.71547652b82fep0
#define LN2_HI 0x1.62e42feep-1 /* LN2_HI has few bits, so that k * LN2_HI is exact */
#define LN2_LO 0x1.a39ef35793c76p-33
#define LIMIT 19.1 /* tanh(LIMIT) rounds to 1 */
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
    t = t > LIMIT ? LIMIT : t;
    t += t;
    real shifted = t * LOG2E + MAGIC, k = shifted - MAGIC;
    real r = (t - k * LN2_HI) - k * LN2_LO;
#if DG_FP == 64
    real p = 1 / 6227020800.0;
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

/* `factor` is the activation's dg_act_factor(). `act` must be a constant, so that loops vectorise. */
INLINE real act_of(const dg_act act, real z, real factor)
{
    switch (act) {
    case DG_ACT_NONE:
    case DG_ACT_RELU:
    case DG_ACT_LEAKY: return z > 0 ? z : factor * z;
    case DG_ACT_TANH: return tanh_of(z);
    }
    return (real)NAN;
}

INLINE real act_dx_of(const dg_act act, real dy, real y, real factor)
{
    switch (act) {
    case DG_ACT_NONE:
    case DG_ACT_RELU:
    case DG_ACT_LEAKY: return y > 0 ? dy : factor * dy;
    case DG_ACT_TANH: return dy * ((1 - y) * (1 + y));
    }
    return (real)NAN;
}

/* Calls `function` with a constant activation, so that loops vectorise. */
#define WITH_ACT(which, function, ...)                                 \
    do {                                                               \
        switch (which) {                                               \
        case DG_ACT_NONE:                                              \
        case DG_ACT_RELU:                                              \
        case DG_ACT_LEAKY: function(DG_ACT_LEAKY, __VA_ARGS__); break; \
        case DG_ACT_TANH: function(DG_ACT_TANH, __VA_ARGS__); break;   \
        }                                                              \
    } while (0)
