/* Losses of a GAN besides cross entropy: a few dozen numbers a step, so one thread, in double, in order. */
#include "kernels/cpu/cpu.h"

static double mean_of(const real *l, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += (double)l[i];
    return sum / n;
}

/* NaN stays NaN in all of these. */
static double half_square(double v) { return v * v / 2; }
static double above_zero(double v) { return v <= 0 ? 0 : v; }
static double from_0_to_1(double v) { return v < 0 ? 0 : v > 1 ? 1 : v; }

static double loss_of(const dg_gan_loss_args *a, double d)
{
    switch (a->form) {
    case DG_GAN_SQUARES: return half_square(d - a->target);
    case DG_GAN_HINGE: return above_zero(1 - a->target * d);
    case DG_GAN_SCORE: break;
    }
    return -a->target * d;
}

/* Of the loss by its logit, times n; shift: what the other half adds to all alike. */
static double slope_of(const dg_gan_loss_args *a, double d, double shift)
{
    if (a->form == DG_GAN_SQUARES) return d - a->target + shift;
    const double margin = 1 - a->target * d;
    return a->form == DG_GAN_SCORE || margin > 0 ? -a->target : above_zero(margin);
}

void DG_CPU(dg_cpu_gan_loss)(const dg_gan_loss_args *a, const dg_tune *tune)
{
    (void)tune;
    const real *logit = a->logit, *other = a->other;
    real *dlogit = a->dlogit;
    const double ours = other ? mean_of(logit, a->n) : 0, theirs = other ? mean_of(other, a->n) : 0;
    const double shift = other ? ours - theirs - a->target : 0;
    double loss = 0, prob = 0;
    for (int i = 0; i < a->n; i++) {
        const double d = (double)logit[i] - theirs;
        loss += loss_of(a, d);
        prob += from_0_to_1((d - a->low) / (1 - a->low));
        dlogit[i] = (real)(slope_of(a, d, shift) / a->n);
    }
    for (int i = 0; other && a->both && i < a->n; i++) loss += half_square((double)other[i] - ours + a->target);
    dg_metrics *row = &a->ring[a->state->step % DG_RING];
    row->value[a->loss] = loss / a->n;
    row->value[a->prob] = prob / a->n;
}
