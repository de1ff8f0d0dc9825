/* Fraction of a running average that a step replaces, equal on every backend. */
#ifndef DG_EMA_H
#define DG_EMA_H

#include "core/base/rng.h"
#include "core/plan/ops.h"

static inline DG_HD double dg_ema_fresh(const dg_ema_args *a)
{
    const double step = (double)a->state->step, ramp = step / (step + 10);
    return 1 - (ramp < a->state->ema ? ramp : a->state->ema);
}

#endif
