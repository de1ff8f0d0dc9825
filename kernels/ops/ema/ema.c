/* Running averages of weights. */
#include "kernels/ops/values.h"
#include "kernels/ops/update/sweep.h"

static void blend(real *restrict average, const real *restrict p, int n, real fresh)
{
    const int all = fresh >= 1;
#pragma omp simd
    for (int i = 0; i < n; i++) average[i] = all ? p[i] : average[i] + fresh * (p[i] - average[i]);
}

DG_CPU_OP(ema, ema)
{
    const real fresh = (real)dg_ema_fresh(a);
#pragma omp parallel for schedule(static) if (a->n > DG_SWEEP_MANY)
    for (int64_t at = 0; at < a->n; at += DG_SWEEP_PIECE) {
        const int64_t left = a->n - at;
        blend((real *)a->average + at, (const real *)a->p + at, left < DG_SWEEP_PIECE ? (int)left : DG_SWEEP_PIECE,
              fresh);
    }
}
