/* Batch norm with an activation behind it: statistics, forward, backward.
 *
 * A tensor is cut into chunks of rows (a row: the C channels of one pixel), small enough to stay in the cache
 * between two looks at them. Each chunk leaves its sums per channel; they are merged in the order of the chunks,
 * in double. Inside a chunk, several rows form a tile of about TILE numbers in which lane i belongs to channel
 * i % C, so that three channels vectorise as well as 256 and every lane adds only a few dozen numbers. */
#include "cpu.h"

#include <math.h>
#include <omp.h>
#include <stdbool.h>

enum { TILE = 256, CHUNK = 8192, MERGE = 16 };

typedef struct {
    int C, groups;
    int64_t rows;       /* of one group */
    int64_t chunk;      /* rows of a chunk; the last of a group may have fewer */
    int chunks;         /* of one group */
    int width, tile;    /* channels, rows of a tile; the last tile of the channels may be narrower */
} split;

static split split_of(int N, int H, int W, int C, int groups)
{
    split s = {.C = C, .groups = groups, .rows = (int64_t)(N / groups) * H * W};
    s.width = C < TILE ? C : TILE;
    s.tile = TILE / s.width;
    s.chunk = C <= TILE ? CHUNK / TILE * s.tile : CHUNK / C > 16 ? CHUNK / C : 16;
    s.chunks = (int)((s.rows + s.chunk - 1) / s.chunk);
    return s;
}

static int64_t rows_of(const split *s, int chunk)
{
    int64_t left = s->rows - (int64_t)(chunk % s->chunks) * s->chunk;
    return left < s->chunk ? left : s->chunk;
}

/* First element of chunk `chunk` (counted over all groups). */
static int64_t start_of(const split *s, int chunk)
{
    return ((int64_t)(chunk / s->chunks) * s->rows + (int64_t)(chunk % s->chunks) * s->chunk) * s->C;
}

/* The chunks from *lo to *hi - 1 are the calling thread's, in every sweep of an op. */
static void share_of(const split *s, int *lo, int *hi)
{
    int64_t n = (int64_t)s->groups * s->chunks, me = omp_get_thread_num(), all = omp_get_num_threads();
    *lo = (int)(n * me / all);
    *hi = (int)(n * (me + 1) / all);
}

/* Scratch: for each chunk, two sums for each of the C channels. */
static double *sums_of(void *scratch, const split *s, int chunk) { return (double *)scratch + 2 * (int64_t)chunk * s->C; }

size_t DG_CPU(dg_cpu_norm_scratch)(dg_op_kind kind, int N, int H, int W, int C, int groups)
{
    split s = split_of(N, H, W, C, groups);
    size_t chunks = (size_t)groups * (size_t)s.chunks, finals = kind == DG_OP_norm_act_dx ? (size_t)groups : 0;
    return (chunks + finals) * 2 * (size_t)C * sizeof(double);
}

/* The loops below take AHEAD tiles at once while there are so many, so that a lane's sums and coefficients are
 * loaded once for all of them; then one by one, and the last one may be partly filled. TILES runs `call` with
 * r: the tile's first row, n: its lanes, many: how many tiles, a constant. */
enum { AHEAD = 4 };
#define TILES(rows, tile, width, call)                                       \
    do {                                                                     \
        int64_t r = 0;                                                       \
        for (; r + AHEAD * (tile) <= (rows); r += AHEAD * (tile)) {          \
            enum { many = AHEAD };                                           \
            int n = (tile) * (width);                                        \
            call;                                                            \
        }                                                                    \
        for (; r < (rows); r += (tile)) {                                    \
            enum { many = 1 };                                               \
            int n = ((rows)-r < (tile) ? (int)((rows)-r) : (tile)) * (width); \
            call;                                                            \
        }                                                                    \
    } while (0)
#define INLINE static inline __attribute__((always_inline))

/* out[j * width + c] = value[c] */
static void spread(real *restrict out, const real *restrict value, int width, int tile)
{
    for (int j = 0; j < tile; j++)
        for (int c = 0; c < width; c++) out[j * width + c] = value[c];
}

/* sum[c] = the lanes of channel c together */
static void fold(double *restrict sum, const real *restrict lane, int width, int tile)
{
    for (int c = 0; c < width; c++) sum[c] = (double)lane[c];
    for (int j = 1; j < tile; j++)
        for (int c = 0; c < width; c++) sum[c] += (double)lane[j * width + c];
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

/* Mean and sum of squared deviations of one chunk, two looks: the second is about the first one's mean, and
 * what is left of the mean there corrects both (Chan, Golub & LeVeque 1983, eq. 1.7). */
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

/* Mean and squared deviations of group g for n channels from c on; Chan, Golub & LeVeque 1983, eq. 2.1. */
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

void DG_CPU(dg_cpu_norm_stats)(const dg_norm_stats_args *a, const dg_tune *tune)
{
    (void)tune;
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
                    running_mean[c + i] = (real)(keep * (double)running_mean[c + i] + a->momentum * m[i]);
                    running_var[c + i] =
                        (real)(keep * (double)running_var[c + i] + a->momentum * (m2[i] * unbias));
                }
            }
        }
    }
}

void DG_CPU(dg_cpu_norm_frozen)(const dg_norm_frozen_args *a, const dg_tune *tune)
{
    (void)tune;
    real *mean = a->mean, *rstd = a->rstd;
    const real *running_mean = a->running_mean, *running_var = a->running_var;
    for (int c = 0; c < a->C; c++) {
        mean[c] = running_mean[c];
        rstd[c] = (real)(1 / sqrt((double)running_var[c] + a->eps));
    }
}

/* relu, leaky and none are one function: z above 0, factor * z at and below (NaN stays NaN). */
static real below_zero(const dg_norm_act_args *a)
{
    return a->act == DG_ACT_RELU ? 0 : a->act == DG_ACT_LEAKY ? (real)a->slope : 1;
}

/* The coefficients of one tile: x - mean, times scale, plus beta is what the activation sees. */
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

void DG_CPU(dg_cpu_norm_act)(const dg_norm_act_args *a, const dg_tune *tune)
{
    (void)tune;
    const split s = split_of(a->N, a->H, a->W, a->C, a->groups);
    const real factor = below_zero(a);
#pragma omp parallel
    {
        int lo, hi;
        share_of(&s, &lo, &hi);
        for (int c0 = 0; c0 < s.C; c0 += s.width) {
            int width = s.C - c0 < s.width ? s.C - c0 : s.width, group = -1;
            affine f;
            /* Backwards: what norm_stats or the convolution looked at last is still in the cache. */
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

/* Sums over one chunk of g and g * (x - mean). */
static void chunk_gradient(double *sum_g, double *sum_gx, const real *dy, const real *x, int64_t rows, int C, int width,
                           int tile, const affine *f, real factor)
{
    real sg[TILE] = {0}, sx[TILE] = {0};
    TILES(rows, tile, width, add_gradient(sg, sx, x + r * C, dy + r * C, f, factor, (int64_t)tile * C, n, many));
    fold(sum_g, sg, width, tile);
    fold(sum_gx, sx, width, tile);
}

/* From the chunks' sums: dgamma, dbeta, and for each group and channel the two numbers that the second sweep
 * subtracts, mean(g) and rstd * mean(g * xhat). */
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

void DG_CPU(dg_cpu_norm_act_dx)(const dg_norm_act_args *a, const dg_tune *tune)
{
    (void)tune;
    const split s = split_of(a->N, a->H, a->W, a->C, a->groups);
    const real factor = below_zero(a), *x = a->x, *dy = a->dy;
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
            for (int k = hi - 1; k >= lo; k--) { /* backwards: the last chunks are still in the cache */
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
