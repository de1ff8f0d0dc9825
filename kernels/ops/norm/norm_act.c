/* Batch norm with an activation: forward and backward. */
#include "kernels/ops/norm/norm_tiles.h"

/* Returns the slope of the activation below 0, or NaN if the activation is not piecewise linear. */
static real factor_of(const dg_norm_act_args *a) { return (real)dg_act_factor(a->act, a->slope); }

/* Coefficients of a tile: the activation's input is (x - mean) * scale + beta. */
typedef struct {
    real mean[TILE], scale[TILE], beta[TILE];
} affine;

static void spread_affine(affine *f, const dg_norm_act_args *a, int g, int c0, int width, int tile)
{
    const real *gamma = (const real *)a->gamma + c0, *rstd = (const real *)a->rstd + g * a->C + c0;
    real scale[TILE];
    for (int c = 0; c < width; c++) scale[c] = gamma[c] * rstd[c];
    spread(f->scale, scale, width, tile);
    spread(f->mean, (const real *)a->mean + g * a->C + c0, width, tile);
    spread(f->beta, (const real *)a->beta + c0, width, tile);
}

INLINE void apply(real *y, const real *x, const affine *f, real factor, int64_t stride, int n, const int many)
{
#pragma omp simd
    for (int i = 0; i < n; i++)
        for (int k = 0; k < many; k++) {
            real z = (x[k * stride + i] - f->mean[i]) * f->scale[i] + f->beta[i];
            y[k * stride + i] = z > 0 ? z : factor * z;
        }
}

DG_CPU_OP(norm_act, norm_act)
{
    const split s = split_of(a->N, a->H, a->W, a->C, a->groups);
    const real factor = factor_of(a);
#pragma omp parallel
    {
        int lo, hi;
        share_of(&s, &lo, &hi);
        for (int c0 = 0; c0 < s.C; c0 += s.width) {
            int width = s.C - c0 < s.width ? s.C - c0 : s.width, group = -1;
            affine f;
            /* Chunks are processed in reverse order, because the last chunks of the previous op are still cached. */
            for (int k = hi - 1; k >= lo; k--) {
                if (group != k / s.chunks) spread_affine(&f, a, group = k / s.chunks, c0, width, s.tile);
                const int64_t at = start_of(&s, k) + c0;
                const real *x = (const real *)a->x + at;
                real *y = (real *)a->y + at;
                TILES(rows_of(&s, k), s.tile, width,
                      apply(y + r * s.C, x + r * s.C, &f, factor, (int64_t)s.tile * s.C, n, many));
            }
        }
    }
}

INLINE void add_gradient(real *restrict sg, real *restrict sx, const real *x, const real *dy, const affine *f,
                         real factor, int64_t stride, int n, const int many)
{
#pragma omp simd
    for (int i = 0; i < n; i++) {
        real s0 = sg[i], s1 = sx[i];
        for (int k = 0; k < many; k++) {
            real d = x[k * stride + i] - f->mean[i], z = d * f->scale[i] + f->beta[i], v = dy[k * stride + i];
            real g = z > 0 ? v : factor * v;
            s0 += g;
            s1 += g * d;
        }
        sg[i] = s0;
        sx[i] = s1;
    }
}

static void chunk_gradient(double *sum_g, double *sum_gx, const real *dy, const real *x, int64_t rows, int C, int width,
                           int tile, const affine *f, real factor)
{
    real sg[TILE] = {0}, sx[TILE] = {0};
    TILES(rows, tile, width, add_gradient(sg, sx, x + r * C, dy + r * C, f, factor, (int64_t)tile * C, n, many));
    fold(sum_g, sg, width, tile);
    fold(sum_gx, sx, width, tile);
}

/* Computes dgamma and dbeta from the chunks' sums. `finals` gets mean(g) and rstd * mean(g * xhat) per group and
 * channel, for the second pass. */
static void merge_gradient(const dg_norm_act_args *a, const split *s, double *finals, int c, int n)
{
    const real *rstd = a->rstd;
    double dgamma[MERGE] = {0}, dbeta[MERGE] = {0};
    for (int g = 0; g < s->groups; g++) {
        double sum_g[MERGE] = {0}, sum_gx[MERGE] = {0};
        for (int k = g * s->chunks; k < (g + 1) * s->chunks; k++) {
            const double *part = sums_of(a->scratch, s, k) + c;
            for (int i = 0; i < n; i++) {
                sum_g[i] += part[i];
                sum_gx[i] += part[s->C + i];
            }
        }
        for (int i = 0; i < n; i++) {
            double invstd = (double)rstd[g * s->C + c + i];
            dbeta[i] += sum_g[i];
            dgamma[i] += sum_gx[i] * invstd;
            finals[(2 * g) * s->C + c + i] = sum_g[i] / (double)s->rows;
            finals[(2 * g + 1) * s->C + c + i] = sum_gx[i] * invstd * invstd / (double)s->rows;
        }
    }
    for (int i = 0; a->dgamma && i < n; i++) ((real *)a->dgamma)[c + i] = (real)dgamma[i];
    for (int i = 0; a->dbeta && i < n; i++) ((real *)a->dbeta)[c + i] = (real)dbeta[i];
}

static void spread_finals(real *mean_g, real *tilt, const double *finals, int g, int C, int c0, int width, int tile)
{
    real a[TILE], b[TILE];
    for (int c = 0; c < width; c++) {
        a[c] = (real)finals[(2 * g) * C + c0 + c];
        b[c] = (real)finals[(2 * g + 1) * C + c0 + c];
    }
    spread(mean_g, a, width, tile);
    spread(tilt, b, width, tile);
}

INLINE void apply_gradient(real *dx, const real *x, const real *dy, const affine *f, const real *mean_g,
                           const real *tilt, real factor, int64_t stride, int n, const int many)
{
#pragma omp simd
    for (int i = 0; i < n; i++)
        for (int k = 0; k < many; k++) {
            real d = x[k * stride + i] - f->mean[i], z = d * f->scale[i] + f->beta[i], v = dy[k * stride + i];
            real g = z > 0 ? v : factor * v;
            dx[k * stride + i] = f->scale[i] * (g - mean_g[i] - d * tilt[i]);
        }
}

DG_CPU_OP(norm_act_dx, norm_act)
{
    const split s = split_of(a->N, a->H, a->W, a->C, a->groups);
    const real factor = factor_of(a), *x = a->x, *dy = a->dy;
    real *dx = a->dx;
    double *finals = sums_of(a->scratch, &s, s.groups * s.chunks);
#pragma omp parallel
    {
        int lo, hi;
        share_of(&s, &lo, &hi);
        affine f;
        for (int c0 = 0; c0 < s.C; c0 += s.width) {
            int width = s.C - c0 < s.width ? s.C - c0 : s.width, group = -1;
            for (int k = lo; k < hi; k++) {
                if (group != k / s.chunks) spread_affine(&f, a, group = k / s.chunks, c0, width, s.tile);
                int64_t at = start_of(&s, k) + c0;
                double *sums = sums_of(a->scratch, &s, k) + c0;
                chunk_gradient(sums, sums + s.C, dy + at, x + at, rows_of(&s, k), s.C, width, s.tile, &f, factor);
            }
        }
#pragma omp barrier
#pragma omp for schedule(static)
        for (int c = 0; c < s.C; c += MERGE) merge_gradient(a, &s, finals, c, s.C - c < MERGE ? s.C - c : MERGE);
        for (int c0 = 0; c0 < s.C; c0 += s.width) {
            int width = s.C - c0 < s.width ? s.C - c0 : s.width, group = -1;
            real mean_g[TILE], tilt[TILE];
            for (int k = hi - 1; k >= lo; k--) {
                if (group != k / s.chunks) {
                    spread_affine(&f, a, group = k / s.chunks, c0, width, s.tile);
                    spread_finals(mean_g, tilt, finals, group, s.C, c0, width, s.tile);
                }
                const int64_t at = start_of(&s, k) + c0;
                TILES(rows_of(&s, k), s.tile, width,
                      apply_gradient(dx + at + r * s.C, x + at + r * s.C, dy + at + r * s.C, &f, mean_g, tilt, factor,
                                     (int64_t)s.tile * s.C, n, many));
            }
        }
    }
}
