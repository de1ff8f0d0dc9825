#include "host/judge/kid.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/rng.h"
#include "host/whiten/products.h"

enum { ROWS = 64, FIRST_DRAW = 64 };

/* Points (n, d), and the indices of the points in each subset (subsets, size). */
typedef struct {
    const double *point;
    int n, d, subsets, size;
    int32_t *index;
} set;

/* Compute the kernel of rows of x from `first` on and all points of y. A point of x is not compared with itself. */
static void kernel(const set *x, const set *y, int first, int rows, double *k)
{
#pragma omp parallel for
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < y->n; j++) {
            double *at = k + (size_t)i * (size_t)y->n + j, v = *at / x->d + 1;
            *at = x == y && first + i == j ? 0 : v * v * v;
        }
}

static double sum_of(const set *x, const set *y, int subset, int first, int rows, const double *k)
{
    const int32_t *p = x->index + (size_t)subset * (size_t)x->size, *q = y->index + (size_t)subset * (size_t)y->size;
    double sum = 0;
    for (int a = 0; a < x->size; a++) {
        if (p[a] < first || p[a] >= first + rows) continue;
        const double *row = k + (size_t)(p[a] - first) * (size_t)y->n;
        for (int b = 0; b < y->size; b++) sum += row[q[b]];
    }
    return sum;
}

/* Add the kernel values of all pairs in each subset, times `scale`, to out (subsets). */
static dg_err add_pairs(const set *x, const set *y, int threads, double scale, double *out)
{
    dg_products p = {.rows = ROWS, .k = x->d, .columns = y->n, .type = DG_F64};
    double *k = malloc(ROWS * (size_t)y->n * sizeof *k);
    dg_err e = k ? dg_products_open(&p, threads, y->point, NULL)
                 : dg_fail(DG_DEVICE, "out of memory for the kernel of %d points", y->n);
    for (int first = 0; first < x->n && !e; first += ROWS) {
        const int rows = x->n - first < ROWS ? x->n - first : ROWS;
        if ((e = dg_products_take(&p, x->point + (size_t)first * (size_t)x->d, rows, k)) != DG_OK) break;
        kernel(x, y, first, rows, k);
#pragma omp parallel for
        for (int s = 0; s < x->subsets; s++) out[s] += scale * sum_of(x, y, s, first, rows, k);
    }
    dg_products_close(&p);
    free(k);
    return e;
}

static dg_err estimate(const set *x, const set *y, int threads, double *out)
{
    const double n = x->size, same = 1 / (n * (n - 1));
    memset(out, 0, (size_t)x->subsets * sizeof *out);
    dg_err e = add_pairs(x, x, threads, same, out);
    if (!e) e = add_pairs(y, y, threads, same, out);
    return e ? e : add_pairs(x, y, threads, -2 / (n * n), out);
}

/* Copy the points of a subset to `to`. */
static set alone(const set *x, int subset, double *to, int32_t *all)
{
    const size_t d = (size_t)x->d;
    for (int i = 0; i < x->size; i++) {
        memcpy(to + (size_t)i * d, x->point + (size_t)x->index[(size_t)subset * (size_t)x->size + (size_t)i] * d,
               d * sizeof *to);
        all[i] = i;
    }
    return (set){.point = to, .n = x->size, .d = x->d, .subsets = 1, .size = x->size, .index = all};
}

static dg_err estimate_each(const set *x, const set *y, int threads, double *out)
{
    const size_t values = (size_t)x->size * (size_t)x->d;
    double *room = malloc(2 * values * sizeof *room);
    int32_t *all = malloc((size_t)x->size * sizeof *all);
    dg_err e = room && all ? DG_OK : dg_fail(DG_DEVICE, "out of memory for subsets of %d points", x->size);
    for (int s = 0; s < x->subsets && !e; s++) {
        const set a = alone(x, s, room, all), b = alone(y, s, room + values, all);
        e = estimate(&a, &b, threads, out + s);
    }
    free(room);
    free(all);
    return e;
}

static bool draw(set *x, uint64_t side, uint64_t seed)
{
    int32_t *order = malloc((size_t)x->n * sizeof *order);
    const size_t size = (size_t)x->size;
    x->index = malloc((size_t)x->subsets * size * sizeof *x->index);
    for (int s = 0; s < x->subsets && order && x->index; s++) {
        dg_permutation_of(order, x->n, seed, dg_subsequence(DG_STREAM_JUDGE, FIRST_DRAW + 2 * (uint64_t)s + side));
        memcpy(x->index + (size_t)s * size, order, size * sizeof *order);
    }
    free(order);
    return order && x->index;
}

static void sum_up(const double *value, dg_kid *out)
{
    double sum = 0, squares = 0;
    for (int s = 0; s < DG_KID_SUBSETS; s++) sum += value[s];
    out->value = sum / DG_KID_SUBSETS;
    for (int s = 0; s < DG_KID_SUBSETS; s++) squares += (value[s] - out->value) * (value[s] - out->value);
    out->deviation = sqrt(squares / DG_KID_SUBSETS);
}

dg_err dg_kid_of(const double *x, int n, const double *y, int m, int d, uint64_t seed, int threads, dg_kid *out)
{
    const int half = (n < m ? n : m) / 2, size = half < DG_KID_SUBSET ? half : DG_KID_SUBSET;
    set a = {.point = x, .n = n, .d = d, .subsets = DG_KID_SUBSETS, .size = size}, b = a;
    double value[DG_KID_SUBSETS] = {0};
    b.point = y;
    b.n = m;
    dg_err e = draw(&a, 0, seed) && draw(&b, 1, seed) ? DG_OK : dg_fail(DG_DEVICE, "out of memory for %d points", n);
    /* products of all points, or of each subset: the fewer ones */
    const bool all = (double)n * n + (double)m * m + (double)n * m < 3.0 * DG_KID_SUBSETS * size * size;
    if (!e) e = all ? estimate(&a, &b, threads, value) : estimate_each(&a, &b, threads, value);
    if (!e) sum_up(value, out);
    free(a.index);
    free(b.index);
    return e;
}
