/* Terms of the GAN losses. The includer defines INLINE and dg_cross_entropy_of(), which rounds by backend. */
#pragma once

#include "kernels/ops/values.h"

/* half_square() and above_zero() return NaN if v is NaN. */
INLINE double half_square(double v) { return v * v / 2; }
INLINE double above_zero(double v) { return v <= 0 ? 0 : v; }
INLINE double from_0_to_1(double v) { return v < 0 ? 0 : v > 1 ? 1 : v; }
INLINE double share_of(const dg_gan_loss_args *a, double d) { return from_0_to_1((d - a->low) / (1 - a->low)); }

INLINE dg_loss_term term_from(double loss, double prob, double slope)
{
    const dg_loss_term t = {loss, prob, slope};
    return t;
}

/* `ours`: mean logit of the half of the batch that contains l. `theirs`: mean logit of the other half. `other`: the
 * other half's logit at the index of l. `ours`, `theirs` and `other` are 0 for losses that do not compare the
 * halves. */
INLINE dg_loss_term term_of(const dg_gan_loss_args *a, double l, double other, double ours, double theirs)
{
    const double margin = 1 - a->target * l, d = l - theirs;
    switch (a->form) {
    case DG_GAN_CROSS: return dg_cross_entropy_of(l, a->target);
    case DG_GAN_SQUARES: return term_from(half_square(l - a->target), share_of(a, l), l - a->target);
    case DG_GAN_HINGE:
        return term_from(above_zero(margin), share_of(a, l), margin > 0 ? -a->target : above_zero(margin));
    case DG_GAN_SCORE: return term_from(-a->target * l, share_of(a, l), -a->target);
    case DG_GAN_AVERAGE:
        return term_from(half_square(d - a->target), share_of(a, d), d - a->target + (ours - theirs - a->target));
    case DG_GAN_PAIRS: {
        const dg_loss_term t = dg_cross_entropy_of(l - other, (1 + a->target) / 2);
        return term_from(t.loss / 2, t.prob, t.slope);
    }
    }
    return term_from((double)NAN, (double)NAN, (double)NAN);
}

/* Returns the loss of logit `other`, or 0 for losses that do not compare the halves of the batch. */
INLINE double other_of(const dg_gan_loss_args *a, double l, double other, double ours)
{
    switch (a->form) {
    case DG_GAN_AVERAGE: return half_square(other - ours + a->target);
    case DG_GAN_PAIRS: return dg_cross_entropy_of(l - other, (1 + a->target) / 2).loss / 2;
    case DG_GAN_CROSS:
    case DG_GAN_SQUARES:
    case DG_GAN_HINGE:
    case DG_GAN_SCORE: break;
    }
    return 0;
}
