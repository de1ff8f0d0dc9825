/* Statistics for batch norm: computed from a batch, or frozen running statistics. */
#include <math.h>
#include <stdbool.h>
#include "kernels/ops/norm/norm_tiles.h"

size_t DG_CPU(dg_cpu_scratch_norm)(const dg_op *op)
{
    const bool dx = op->kind == DG_OP_norm_act_dx;
    const dg_norm_stats_args *a = &op->u.norm_stats;
    const dg_norm_act_args *d = &op->u.norm_act;
    const split s = dx ? split_of(d->N, d->H, d->W, d->C, d->groups) : split_of(a->N, a->H, a->W, a->C, a->groups);
    const size_t finals = dx ? (size_t)s.groups : 0;
    return ((size_t)s.groups * (size_t)s.chunks + finals) * 2 * (size_t)s.C * sizeof(double);
}

INLINE void add_sums(real *restrict sum, const real *x, int64_t stride, int n, const int many)
{
#pragma omp simd
    for (int i = 0; i < n; i++) {
        real s = sum[i];
        for (int k = 0; k < many; k++) s += x[k * stride + i];
        sum[i] = s;
    }
}

INLINE void add_squares(real *restrict sum, real *restrict square, const real *restrict about, const real *x,
                        int64_t stride, int n, const int many)
{
#pragma omp simd
    for (int i = 0; i < n; i++) {
        real s = sum[i], q = square[i];
        for (int k = 0; k < many; k++) {
            real d = x[k * stride + i] - about[i];
            s += d;
            q += d * d;
        }
        sum[i] = s;
        square[i] = q;
    }
}

/* Computes the mean and the sum of squared deviations of a chunk in two passes. The second pass sums deviations from
 * the first pass's rounded mean. Their sum corrects the mean and the squares (Chan, Golub & LeVeque 1983, eq. 1.7). */
static void chunk_stats(double *restrict mean, double *restrict m2, const real *x, int64_t rows, const split *s)
{
    const double share = 1 / (double)rows;
    for (int c0 = 0; c0 < s->C; c0 += s->width) {
        int width = s->C - c0 < s->width ? s->C - c0 : s->width, lanes = s->tile * width;
        const int64_t stride = (int64_t)s->tile * s->C;
        real sum[TILE] = {0}, square[TILE] = {0}, about[TILE], centre[TILE];
        double total[TILE];
        TILES(rows, s->tile, width, add_sums(sum, x + r * s->C + c0, stride, n, many));
        fold(total, sum, width, s->tile);
        for (int c = 0; c < width; c++) centre[c] = (real)(total[c] * share);
        spread(about, centre, width, s->tile);
        for (int i = 0; i < lanes; i++) sum[i] = 0;
        TILES(rows, s->tile, width, add_squares(sum, square, about, x + r * s->C + c0, stride, n, many));
        fold(total, sum, width, s->tile);
        fold(m2 + c0, square, width, s->tile);
        for (int c = 0; c < width; c++) {
            mean[c0 + c] = (double)centre[c] + total[c] * share;
            m2[c0 + c] -= total[c] * total[c] * share;
        }
    }
}

/* Merges the statistics of the chunks of group g, for n channels (Chan, Golub & LeVeque 1983, eq. 2.1). */
static void merge_stats(double *restrict mean, double *restrict m2, const split *s, void *scratch, int g, int c, int n)
{
    double rows = 0;
    for (int i = 0; i < n; i++) mean[i] = m2[i] = 0;
    for (int k = g * s->chunks; k < (g + 1) * s->chunks; k++) {
        const double *part = sums_of(scratch, s, k) + c;
        double more = (double)rows_of(s, k), part_of_all = more / (rows + more);
        for (int i = 0; i < n; i++) {
            double delta = part[i] - mean[i];
            mean[i] += delta * part_of_all;
            m2[i] += part[s->C + i] + delta * delta * rows * part_of_all;
        }
        rows += more;
    }
}

DG_CPU_OP(norm_stats, norm_stats)
{
    const split s = split_of(a->N, a->H, a->W, a->C, a->groups);
    real *mean = a->mean, *rstd = a->rstd, *running_mean = a->running_mean, *running_var = a->running_var;
    const double unbias = s.rows > 1 ? 1 / (double)(s.rows - 1) : 1, keep = 1 - a->momentum;
#pragma omp parallel
    {
        int lo, hi;
        share_of(&s, &lo, &hi);
        for (int k = lo; k < hi; k++) {
            double *sums = sums_of(a->scratch, &s, k);
            chunk_stats(sums, sums + s.C, (const real *)a->x + start_of(&s, k), rows_of(&s, k), &s);
        }
#pragma omp barrier
#pragma omp for schedule(static)
        for (int c = 0; c < s.C; c += MERGE) {
            int n = s.C - c < MERGE ? s.C - c : MERGE;
            for (int g = 0; g < s.groups; g++) {
                double m[MERGE], m2[MERGE];
                merge_stats(m, m2, &s, a->scratch, g, c, n);
                for (int i = 0; i < n; i++) {
                    mean[g * s.C + c + i] = (real)m[i];
                    rstd[g * s.C + c + i] = (real)(1 / sqrt(m2[i] / (double)s.rows + a->eps));
                    if (!running_mean) continue;
                    running_mean[c + i] = (real)(keep * (double)running_mean[c + i] + a->momentum * m[i]);
                    running_var[c + i] = (real)(keep * (double)running_var[c + i] + a->momentum * (m2[i] * unbias));
                }
            }
        }
    }
}

DG_CPU_OP(norm_frozen, norm_frozen)
{
    real *mean = a->mean, *rstd = a->rstd;
    const real *running_mean = a->running_mean, *running_var = a->running_var;
    for (int c = 0; c < a->C; c++) {
        mean[c] = running_mean[c];
        rstd[c] = (real)(1 / sqrt((double)running_var[c] + a->eps));
    }
}
