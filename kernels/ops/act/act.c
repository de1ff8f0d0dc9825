/* Activations without a norm: of a tensor, backward, and of a sum of two. */
#include "kernels/ops/act/act.h"

/* Values that a thread takes at a time; from which on other threads are worth it: 20 us of one. */
enum { PIECE = 4096, MANY = 1 << 16 };

void DG_CPU(dg_cpu_act)(const dg_act_args *a, const dg_tune *tune)
{
    (void)tune;
    const real *x = a->x, factor = below_zero(a->act, a->slope);
    real *y = a->y;
#pragma omp parallel for schedule(static) if (a->n > MANY)
    for (int64_t at = 0; at < a->n; at += PIECE) {
        const real *px = x + at;
        real *py = y + at;
        int n = a->n - at < PIECE ? (int)(a->n - at) : PIECE;
        if (a->act == DG_ACT_TANH) {
#pragma omp simd
            for (int i = 0; i < n; i++) py[i] = tanh_of(px[i]);
        } else {
#pragma omp simd
            for (int i = 0; i < n; i++) py[i] = act_of(px[i], factor);
        }
    }
}

void DG_CPU(dg_cpu_act_dx)(const dg_act_args *a, const dg_tune *tune)
{
    (void)tune;
    const real *dy = a->dy, *y = a->y, factor = below_zero(a->act, a->slope);
    real *dx = a->dx;
#pragma omp parallel for schedule(static) if (a->n > MANY)
    for (int64_t at = 0; at < a->n; at += PIECE) {
        const real *pd = dy + at, *py = y + at;
        real *out = dx + at;
        int n = a->n - at < PIECE ? (int)(a->n - at) : PIECE;
        if (a->act == DG_ACT_TANH) {
#pragma omp simd
            for (int i = 0; i < n; i++) out[i] = tanh_dx_of(pd[i], py[i]);
        } else {
#pragma omp simd
            for (int i = 0; i < n; i++) out[i] = act_dx_of(pd[i], py[i], factor);
        }
    }
}

void DG_CPU(dg_cpu_add)(const dg_add_args *a, const dg_tune *tune)
{
    (void)tune;
    const real *left = a->a, *right = a->b, factor = below_zero(a->act, a->slope);
    real *y = a->y;
#pragma omp parallel for schedule(static) if (a->n > MANY)
    for (int64_t at = 0; at < a->n; at += PIECE) {
        const real *pa = left + at, *pb = right + at;
        real *py = y + at;
        int n = a->n - at < PIECE ? (int)(a->n - at) : PIECE;
        if (a->act == DG_ACT_TANH) {
#pragma omp simd
            for (int i = 0; i < n; i++) py[i] = tanh_of(pa[i] + pb[i]);
        } else {
#pragma omp simd
            for (int i = 0; i < n; i++) py[i] = act_of(pa[i] + pb[i], factor);
        }
    }
}
