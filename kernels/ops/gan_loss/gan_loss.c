/* GAN losses. A step has only a few dozen logits, so one thread adds their terms in double, in index order. */
#include <math.h>

#include "kernels/cpu/cpu.h"
#include "kernels/ops/values.h"

static double mean_of(const real *l, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += (double)l[i];
    return sum / n;
}

/* Cross entropy. Computes sigmoid(l) - target without cancellation, so that gradients of confident logits are exact. */
INLINE dg_loss_term dg_cross_entropy_of(double l, double target)
{
    const double e = exp(-fabs(l));
    const double p = (l < 0 ? e : 1) / (1 + e), q = (l < 0 ? 1 : e) / (1 + e); /* sigmoid(l), sigmoid(-l) */
    return (dg_loss_term){(l > 0 ? l : 0) - l * target + log1p(e), p, p * (1 - target) - q * target};
}

#include "kernels/ops/gan_loss/gan_loss.h"

DG_CPU_OP(gan_loss, gan_loss)
{
    const real *logit = a->logit, *other = a->other;
    real *dlogit = a->dlogit;
    const double ours = other ? mean_of(logit, a->n) : 0, theirs = other ? mean_of(other, a->n) : 0;
    double loss = 0, prob = 0;
    for (int i = 0; i < a->n; i++) {
        const dg_loss_term t = term_of(a, (double)logit[i], other ? (double)other[i] : 0, ours, theirs);
        loss += t.loss;
        prob += t.prob;
        dlogit[i] = (real)(t.slope / a->n);
    }
    for (int i = 0; other && a->both && i < a->n; i++) loss += other_of(a, (double)logit[i], (double)other[i], ours);
    dg_metrics *row = &a->ring[a->state->step % DG_RING];
    row->value[a->loss] = loss / a->n;
    row->value[a->prob] = prob / a->n;
}
