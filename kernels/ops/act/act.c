/* Activations without a norm: forward, backward, and forward for a sum of two tensors. */
#include "kernels/ops/act/act.h"

/* PIECE: number of values that a thread processes at a time. MANY: min number of values for which several threads are
 * faster. */
enum { PIECE = 4096, MANY = 1 << 16 };

static int piece_of(int64_t n, int64_t at) { return n - at < PIECE ? (int)(n - at) : PIECE; }

INLINE void apply(const dg_act act, real *y, const real *x, int n, real factor)
{
#pragma omp simd
    for (int i = 0; i < n; i++) y[i] = act_of(act, x[i], factor);
}

DG_CPU_OP(act, act)
{
    const real *x = a->x, factor = (real)dg_act_factor(a->act, a->slope);
    real *y = a->y;
#pragma omp parallel for schedule(static) if (a->n > MANY)
    for (int64_t at = 0; at < a->n; at += PIECE) WITH_ACT(a->act, apply, y + at, x + at, piece_of(a->n, at), factor);
}

INLINE void apply_gradient(const dg_act act, real *dx, const real *dy, const real *y, int n, real factor)
{
#pragma omp simd
    for (int i = 0; i < n; i++) dx[i] = act_dx_of(act, dy[i], y[i], factor);
}

DG_CPU_OP(act_dx, act)
{
    const real *dy = a->dy, *y = a->y, factor = (real)dg_act_factor(a->act, a->slope);
    real *dx = a->dx;
#pragma omp parallel for schedule(static) if (a->n > MANY)
    for (int64_t at = 0; at < a->n; at += PIECE)
        WITH_ACT(a->act, apply_gradient, dx + at, dy + at, y + at, piece_of(a->n, at), factor);
}

INLINE void apply_to_sum(const dg_act act, real *y, const real *a, const real *b, int n, real factor)
{
#pragma omp simd
    for (int i = 0; i < n; i++) y[i] = act_of(act, a[i] + b[i], factor);
}

DG_CPU_OP(add, add)
{
    const real *left = a->a, *right = a->b, factor = (real)dg_act_factor(a->act, a->slope);
    real *y = a->y;
#pragma omp parallel for schedule(static) if (a->n > MANY)
    for (int64_t at = 0; at < a->n; at += PIECE)
        WITH_ACT(a->act, apply_to_sum, y + at, left + at, right + at, piece_of(a->n, at), factor);
}
