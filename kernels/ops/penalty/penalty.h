/* Factor by which op mix multiplies tangents, equal on every backend. */
#ifndef DG_PENALTY_SCALE_H
#define DG_PENALTY_SCALE_H

#include "core/base/rng.h"
#include "core/plan/ops.h"

/* half: 0 for images before a->first, else 1 */
static inline DG_HD double dg_mix_scale(const dg_mix_args *a, const dg_step_state *state, int half)
{
    return state->penalty[half] / (half ? a->N - a->first : a->first);
}

#endif
