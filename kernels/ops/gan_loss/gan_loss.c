/* GAN losses. A step has only a few dozen logits, so one thread adds their terms in double, in index order. */
#include <math.h>

#include "kernels/cpu/cpu.h"

static double mean_of(const real *l, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += (double)l[i];
    return sum / n;
}

/* half_square() and above_zero() return NaN if v is NaN. */
INLINE double half_square(double v) { return v * v / 2; }
INLINE double above_zero(double v) { return v <= 0 ? 0 : v; }
INLINE double from_0_to_1(double v) { return v < 0 ? 0 : v > 1 ? 1 : v; }
INLINE double share_of(const dg_gan_loss_args *a, double d) { return from_0_to_1((d - a->low) / (1 - a->low)); }

/* Contribution of one logit to loss and prob, and the derivative of the loss by this logit, all multiplied by n. */
typedef struct {
    double loss, prob, slope;
} term;

/* Cross entropy. Computes sigmoid(l) - target without cancellation, so that gradients of confident logits are exact. */
INLINE term cross_of(double l, double target)
{
    const double e = exp(-fabs(l));
    const double p = (l < 0 ? e : 1) / (1 + e), q = (l < 0 ? 1 : e) / (1 + e); /* sigmoid(l), sigmoid(-l) */
    return (term){(l > 0 ? l : 0) - l * target + log1p(e), p, p * (1 - target) - q * target};
}

/* `ours`: mean logit of the half of the batch that contains l. `theirs`: mean logit of the other half. `other`: the
 * other half's logit at the index of l. `ours`, `theirs` and `other` are 0 for losses that do not compare the
 * halves. */
INLINE term term_of(const dg_gan_loss_args *a, double l, double other, double ours, double theirs)
{
    switch (a->form) {
    case DG_GAN_CROSS: return cross_of(l, a->target);
    case DG_GAN_SQUARES: return (term){half_square(l - a->target), share_of(a, l), l - a->target};
    case DG_GAN_HINGE: {
        const double margin = 1 - a->target * l;
        return (term){above_zero(margin), share_of(a, l), margin > 0 ? -a->target : above_zero(margin)};
    }
    case DG_GAN_SCORE: return (term){-a->target * l, share_of(a, l), -a->target};
    case DG_GAN_AVERAGE: {
        const double d = l - theirs;
        return (term){half_square(d - a->target), share_of(a, d), d - a->target + (ours - theirs - a->target)};
    }
    case DG_GAN_PAIRS: {
        const term t = cross_of(l - other, (1 + a->target) / 2);
        return (term){t.loss / 2, t.prob, t.slope};
    }
    }
    return (term){(double)NAN, (double)NAN, (double)NAN};
}

/* Returns the loss of logit `other`, or 0 for losses that do not compare the halves of the batch. */
INLINE double other_of(const dg_gan_loss_args *a, double l, double other, double ours)
{
    switch (a->form) {
    case DG_GAN_AVERAGE: return half_square(other - ours + a->target);
    case DG_GAN_PAIRS: return cross_of(l - other, (1 + a->target) / 2).loss / 2;
    case DG_GAN_CROSS:
    case DG_GAN_SQUARES:
    case DG_GAN_HINGE:
    case DG_GAN_SCORE: break;
    }
    return 0;
}

DG_CPU_OP(gan_loss, gan_loss)
{
    const real *logit = a->logit, *other = a->other;
    real *dlogit = a->dlogit;
    const double ours = other ? mean_of(logit, a->n) : 0, theirs = other ? mean_of(other, a->n) : 0;
    double loss = 0, prob = 0;
    for (int i = 0; i < a->n; i++) {
        const term t = term_of(a, (double)logit[i], other ? (double)other[i] : 0, ours, theirs);
        loss += t.loss;
        prob += t.prob;
        dlogit[i] = (real)(t.slope / a->n);
    }
    for (int i = 0; other && a->both && i < a->n; i++) loss += other_of(a, (double)logit[i], (double)other[i], ours);
    dg_metrics *row = &a->ring[a->state->step % DG_RING];
    row->value[a->loss] = loss / a->n;
    row->value[a->prob] = prob / a->n;
}
