/* Factor of a resampling op: 1 / (sum of the weights of a result). A gradient has the factor of its forward op. */
#ifndef DG_RESAMPLE_H
#define DG_RESAMPLE_H

#include "core/plan/ops.h"

static inline double dg_resample_factor(const dg_resample_args *a, bool up)
{
    return up == !a->adjoint ? 1.0 / 16 : 1.0 / 64;
}

#endif
