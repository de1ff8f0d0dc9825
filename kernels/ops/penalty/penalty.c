/* Ops of gradient penalties. */
#include "kernels/cpu/cpu.h"
#include "kernels/ops/values.h"

enum { PIECE = 4096, MANY = 1 << 15 };

DG_CPU_OP(fill, fill)
{
    real *y = a->y;
    for (int64_t i = 0; i < a->n; i++) y[i] = (real)a->value;
}

static void mix(real *y, const real *a, const real *t, real s, real scale, int n)
{
#pragma omp simd
    for (int i = 0; i < n; i++) y[i] = s * a[i] + scale * t[i];
}

DG_CPU_OP(mix, mix)
{
    const int pieces = (a->each + PIECE - 1) / PIECE;
#pragma omp parallel for schedule(static) if ((int64_t)a->N * a->each > MANY)
    for (int64_t k = 0; k < (int64_t)a->N * pieces; k++) {
        const int n = (int)(k / pieces), from = (int)(k % pieces) * PIECE, left = a->each - from;
        const int64_t at = (int64_t)n * a->each + from;
        mix((real *)a->y + at, (const real *)a->a + at, (const real *)a->t + at, ((const real *)a->s)[n],
            (real)dg_mix_scale(a, a->state, n >= a->first), left < PIECE ? left : PIECE);
    }
}

enum { LANES = 64 };

/* Sums `lanes` channels, from g on, over the pixels of an image. */
static void sum_pixels(real *out, const real *g, int pixels, int C, int lanes)
{
    double sum[LANES] = {0};
    for (int p = 0; p < pixels; p++, g += C)
#pragma omp simd
        for (int c = 0; c < lanes; c++) sum[c] += (double)g[c];
    for (int c = 0; c < lanes; c++) out[c] = (real)sum[c];
}

static real weighted(const dg_bias_dw_args *a, int c)
{
    const real *s = a->s, *each = a->each;
    double sum = 0;
    for (int n = 0; n < a->N; n++) sum += (double)s[n] * (double)each[(int64_t)n * a->C + c];
    return (real)sum;
}

DG_CPU_OP(bias_dw, bias_dw)
{
    const int pixels = a->H * a->W, C = a->C;
#pragma omp parallel if ((int64_t)a->N * pixels * C > MANY)
    {
#pragma omp for schedule(static)
        for (int n = 0; n < a->N; n++)
            for (int c = 0; c < C; c += LANES)
                sum_pixels((real *)a->each + (int64_t)n * C + c, (const real *)a->g + (int64_t)n * pixels * C + c,
                           pixels, C, C - c < LANES ? C - c : LANES);
#pragma omp for schedule(static)
        for (int c = 0; c < C; c++) ((real *)a->db)[c] = weighted(a, c);
    }
}

static double mean_of(const real *x, int from, int to)
{
    double sum = 0;
    for (int i = from; i < to; i++) sum += (double)x[i];
    return sum / (to - from);
}

DG_CPU_OP(penalty, penalty)
{
    dg_metrics *row = &a->ring[a->state->step % DG_RING];
    row->value[a->r1] = mean_of(a->x, 0, a->first);
    row->value[a->r2] = mean_of(a->x, a->first, a->n);
}
