/* Bias with activation, forward and backward. Like batch norm, the ops divide rows into tiles and chunks
 * (norm_tiles.h). */
#include "kernels/ops/act/act.h"
#include "kernels/ops/values.h"
#include "kernels/ops/norm/norm_tiles.h"

enum { MANY = 1 << 16 }; /* min number of values for which several threads are faster in the forward pass */

INLINE split split_rows(const dg_bias_act_args *a) { return split_of(a->N, a->H, a->W, a->C, 1); }

size_t DG_CPU(dg_cpu_scratch_bias)(const dg_op *op)
{
    if (!dg_bias_sums(op)) return 0;
    const split s = split_rows(&op->u.bias_act);
    return (size_t)s.chunks * (size_t)s.C * sizeof(double);
}

INLINE void apply(const dg_act act, real *y, const real *x, const real *bias, real factor, int64_t stride, int n,
                  const int many)
{
#pragma omp simd
    for (int i = 0; i < n; i++)
        for (int k = 0; k < many; k++) {
            /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): every tile has at least one row */
            const real z = x[k * stride + i] + bias[i];
            y[k * stride + i] = act_of(act, z, factor);
        }
}

INLINE void forward(const dg_act act, const dg_bias_act_args *a, const split *s)
{
    const real factor = (real)dg_act_factor(a->act, a->slope);
    int lo, hi;
    share_of(s, &lo, &hi);
    for (int c0 = 0; c0 < s->C; c0 += s->width) {
        int width = s->C - c0 < s->width ? s->C - c0 : s->width;
        real bias[TILE];
        spread(bias, (const real *)a->b + c0, width, s->tile);
        for (int k = lo; k < hi; k++) {
            const int64_t at = start_of(s, k) + c0;
            const real *x = (const real *)a->x + at;
            real *y = (real *)a->y + at;
            TILES(rows_of(s, k), s->tile, width,
                  apply(act, y + r * s->C, x + r * s->C, bias, factor, (int64_t)s->tile * s->C, n, many));
        }
    }
}

DG_CPU_OP(bias_act, bias_act)
{
    const split s = split_rows(a);
#pragma omp parallel if (s.rows * s.C > MANY)
    WITH_ACT(a->act, forward, a, &s);
}

INLINE void apply_gradient(const dg_act act, real *restrict sum, real *dx, const real *dy, const real *y, real factor,
                           int64_t stride, int n, const int many)
{
#pragma omp simd
    for (int i = 0; i < n; i++) {
        real s = sum[i];
        for (int k = 0; k < many; k++) {
            const real d = dy[k * stride + i], v = y[k * stride + i];
            const real g = act_dx_of(act, d, v, factor);
            dx[k * stride + i] = g;
            s += g;
        }
        sum[i] = s;
    }
}

INLINE void backward(const dg_act act, const dg_bias_act_args *a, const split *s)
{
    const real factor = (real)dg_act_factor(a->act, a->slope);
    int lo, hi;
    share_of(s, &lo, &hi);
    for (int k = lo; k < hi; k++)
        for (int c0 = 0; c0 < s->C; c0 += s->width) {
            int width = s->C - c0 < s->width ? s->C - c0 : s->width;
            const int64_t at = start_of(s, k) + c0;
            const real *dy = (const real *)a->dy + at, *y = (const real *)a->y + at;
            real *dx = (real *)a->dx + at, sum[TILE] = {0};
            TILES(rows_of(s, k), s->tile, width,
                  apply_gradient(act, sum, dx + r * s->C, dy + r * s->C, y + r * s->C, factor, (int64_t)s->tile * s->C,
                                 n, many));
            fold((double *)a->scratch + (int64_t)k * s->C + c0, sum, width, s->tile);
        }
}

static void merge(const dg_bias_act_args *a, const split *s, int c, int n)
{
    double sum[MERGE] = {0};
    for (int k = 0; k < s->chunks; k++) {
        const double *part = (const double *)a->scratch + (int64_t)k * s->C + c;
        for (int i = 0; i < n; i++) sum[i] += part[i];
    }
    for (int i = 0; i < n; i++) ((real *)a->db)[c + i] = (real)sum[i];
}

DG_CPU_OP(bias_act_dx, bias_act)
{
    const split s = split_rows(a);
    if (!a->db) {
        const int64_t n = s.rows * s.C;
        DG_CPU(dg_cpu_act_dx)
        (&(dg_act_args){.dx = a->dx, .dy = a->dy, .y = a->y, .n = n, .act = a->act, .slope = a->slope}, tune);
        return;
    }
#pragma omp parallel if (s.rows * s.C > MANY / 2)
    {
        WITH_ACT(a->act, backward, a, &s);
#pragma omp barrier
#pragma omp for schedule(static)
        for (int c = 0; c < s.C; c += MERGE) merge(a, &s, c, s.C - c < MERGE ? s.C - c : MERGE);
    }
}
