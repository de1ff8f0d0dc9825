/* Binary cross entropy on logits: a few dozen numbers a step, so one thread, in double, in order. */
#include "kernels/cpu/cpu.h"

#include <math.h>

void DG_CPU(dg_cpu_bce)(const dg_bce_args *a, const dg_tune *tune)
{
    (void)tune;
    const real *logit = a->logit;
    real *dlogit = a->dlogit;
    double loss = 0, prob = 0;
    for (int i = 0; i < a->n; i++) {
        double l = (double)logit[i], e = exp(-fabs(l));
        double p = (l < 0 ? e : 1) / (1 + e), q = (l < 0 ? 1 : e) / (1 + e); /* sigmoid(l), sigmoid(-l) */
        loss += (l > 0 ? l : 0) - l * a->target + log1p(e);
        prob += p;
        /* sigmoid(l) - t without cancelling: the gradient of a confident logit stays exact */
        dlogit[i] = (real)((p * (1 - a->target) - q * a->target) / a->n);
    }
    dg_metrics *row = &a->ring[a->state->step % DG_RING];
    row->value[a->loss] = loss / a->n;
    row->value[a->prob] = prob / a->n;
}
