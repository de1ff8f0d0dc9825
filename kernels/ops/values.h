/* Values derived from arguments of ops, equal on every backend. */
#pragma once

#include <math.h>

#include "core/base/rng.h"
#include "core/plan/op_info.h"

/* Contribution of one logit to loss and prob, and the derivative of the loss by this logit, all multiplied by n. */
typedef struct {
    double loss, prob, slope;
} dg_loss_term;

/* True if op bias_act_dx has its optional result db. */
static inline bool dg_bias_sums(const dg_op *op) { return op->operand[dg_operand_index(op->kind, "db")].row >= 0; }

/* Returns p * 2^32, rounded up. Dropout keeps a value if its random 32-bit number is at least this threshold. */
static inline uint64_t dg_dropout_threshold(const dg_dropout_args *a) { return (uint64_t)ceil(a->p * 0x1p32); }

static inline double dg_dropout_scale(const dg_dropout_args *a) { return 1 / (1 - a->p); }

static inline DG_HD uint64_t dg_dropout_subsequence(const dg_dropout_args *a)
{
    return dg_subsequence(DG_STREAM_DROPOUT, (uint64_t)a->layer << 40 | a->state->step);
}

/* Returns the fraction of a running average that a step replaces. */
static inline DG_HD double dg_ema_fresh(const dg_ema_args *a)
{
    const double step = (double)a->state->step, ramp = step / (step + 10);
    return 1 - (ramp < a->state->ema ? ramp : a->state->ema);
}

/* Returns the factor by which op mix multiplies tangents. half: 0 for images before a->first, else 1 */
static inline DG_HD double dg_mix_scale(const dg_mix_args *a, const dg_step_state *state, int half)
{
    return state->penalty[half] / (half ? a->N - a->first : a->first);
}

/* Returns 1 / (sum of the weights of a result). A gradient has the factor of its forward op. */
static inline double dg_resample_factor(const dg_resample_args *a, bool up)
{
    return up == !a->adjoint ? 1.0 / 16 : 1.0 / 64;
}

/* Number of parts of the sum of op spectral_dw on a GPU. The number depends only on the shape. */
enum { DG_SPECTRAL_PARTS = 256, DG_SPECTRAL_PART = 4096 };

static inline int dg_spectral_parts(const dg_spectral_args *a)
{
    const int64_t parts = ((int64_t)a->rows * a->cols + DG_SPECTRAL_PART - 1) / DG_SPECTRAL_PART;
    return parts < DG_SPECTRAL_PARTS ? (int)parts : DG_SPECTRAL_PARTS;
}
