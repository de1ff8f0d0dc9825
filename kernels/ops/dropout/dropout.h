/* Threshold and scale of dropout, equal on every backend. */
#ifndef DG_DROPOUT_H
#define DG_DROPOUT_H

#include <math.h>

#include "core/base/rng.h"
#include "core/plan/ops.h"

/* Returns p * 2^32, rounded up. A value is kept if its random 32-bit number is at least this threshold. */
static inline uint64_t dg_dropout_threshold(const dg_dropout_args *a) { return (uint64_t)ceil(a->p * 0x1p32); }

static inline double dg_dropout_scale(const dg_dropout_args *a) { return 1 / (1 - a->p); }

static inline DG_HD uint64_t dg_dropout_subsequence(const dg_dropout_args *a)
{
    return dg_subsequence(DG_STREAM_DROPOUT, (uint64_t)a->layer << 40 | a->state->step);
}

#endif
