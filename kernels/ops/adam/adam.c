/* Adam over the flat weights of one network, bound by memory (seven values per weight). */
#include "kernels/ops/update/sweep.h"

DG_CPU_OP(adam, adam)
{
    const double t = (double)(a->state->step + 1), beta2 = a->state->beta2;
    const real rate = (real)(a->state->lr[a->net] / (1 - pow(a->beta1, t)));
    const real unbias = (real)(1 / sqrt(1 - pow(beta2, t))), eps = (real)a->eps;
    const real new1 = (real)(1 - a->beta1), keep2 = (real)beta2, new2 = (real)(1 - beta2);
    int64_t bad = 0; /* an integer sum, which does not depend on the order */
#pragma omp parallel for schedule(static) reduction(+ : bad) if (a->n > DG_SWEEP_MANY)
    for (int64_t at = 0; at < a->n; at += DG_SWEEP_PIECE) {
        real *restrict p = (real *)a->p + at, *restrict m = (real *)a->m + at, *restrict v = (real *)a->v + at;
        const real *restrict g = (const real *)a->g + at;
        int n = a->n - at < DG_SWEEP_PIECE ? (int)(a->n - at) : DG_SWEEP_PIECE, broken = 0;
#pragma omp simd reduction(+ : broken)
        for (int i = 0; i < n; i++) {
            real gi = g[i], mi = m[i] + new1 * (gi - m[i]), vi = keep2 * v[i] + new2 * (gi * gi);
            real pi = p[i] - rate * mi / (dg_root(vi) * unbias + eps);
            m[i] = mi;
            v[i] = vi;
            p[i] = pi;
            broken += !dg_finite(pi);
        }
        bad += broken;
    }
    a->ring[a->state->step % DG_RING].value[a->bad] = (double)bad;
}
