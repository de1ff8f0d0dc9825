/* The divisor of a resampling op: the sum of the weights of each result, or that of the other op for a gradient. */
#ifndef DG_RESAMPLE_H
#define DG_RESAMPLE_H

#include "core/plan/ops.h"

static inline double dg_resample_factor(const dg_resample_args *a, bool up)
{
    return up == !a->adjoint ? 1.0 / 16 : 1.0 / 64;
}

#endif
