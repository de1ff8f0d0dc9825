#include "host/judge/frechet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "host/whiten/products.h"

/* Compute y (rows, columns) = a (rows, k) b (columns, k)^T. */
static dg_err multiply(double *y, const double *a, const double *b, int rows, int k, int columns)
{
    dg_products p = {.rows = rows, .k = k, .columns = columns, .type = DG_F64};
    dg_err e = dg_products_open(&p, 0, b, NULL);
    if (!e) e = dg_products_take(&p, a, rows, y);
    dg_products_close(&p);
    return e;
}

enum { AT_ONCE = 4096 }; /* points whose products are computed together, which bounds the memory */

dg_err dg_moments_of(const double *x, int points, int features, double *mean, double *cov)
{
    const size_t n = (size_t)points, d = (size_t)features, most = n < AT_ONCE ? n : AT_ONCE;
    double *part = malloc((d * d + most * d) * sizeof *part);
    if (!part) return dg_fail(DG_DEVICE, "out of memory for covariances of %zu features", d);
    double *turned = part + d * d; /* (d, m): x - mean, transposed */
    memset(mean, 0, d * sizeof *mean);
    memset(cov, 0, d * d * sizeof *cov);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < d; k++) mean[k] += x[i * d + k] / (double)n;
    dg_err e = DG_OK;
    for (size_t first = 0; first < n && !e; first += most) {
        const size_t m = n - first < most ? n - first : most;
        for (size_t k = 0; k < d; k++)
            for (size_t i = 0; i < m; i++) turned[k * m + i] = x[(first + i) * d + k] - mean[k];
        e = multiply(part, turned, turned, features, (int)m, features);
        for (size_t k = 0; k < d * d && !e; k++) cov[k] += part[k] / (double)(n - 1);
    }
    free(part);
    return e;
}

static double trace(const double *a, size_t d)
{
    double sum = 0;
    for (size_t i = 0; i < d; i++) sum += a[i * d + i];
    return sum;
}

static double root(double x) { return x > 0 ? sqrt(x) : 0; } /* negative eigenvalues are rounding errors */

enum { COLUMNS = 64, ALONE = 256 }; /* roots of at most ALONE columns are computed by one thread */

/* Compute row k of the root: row `pivot` of cov, minus its products with the rows before k. */
static void next_row(double *root, size_t k, const double *cov, size_t pivot, size_t d, double scale)
{
#pragma omp parallel for if (d > ALONE)
    for (size_t from = 0; from < d; from += COLUMNS) {
        const size_t to = from + COLUMNS < d ? from + COLUMNS : d;
        double *row = root + k * d;
        for (size_t j = from; j < to; j++) row[j] = cov[pivot * d + j];
        for (size_t i = 0; i < k; i++)
            for (size_t j = from; j < to; j++) row[j] -= root[i * d + pivot] * root[i * d + j];
        for (size_t j = from; j < to; j++) row[j] *= scale;
    }
}

/* Cholesky decomposition with pivots (Higham 1990), which stops if the rest is rounding error: root^T root = cov. Every
 * row of the root divides by the largest rest of the diagonal, `rest` (d). Returns the rank. */
static int take_root(double *root, const double *cov, size_t d, double *rest)
{
    double most = 0;
    for (size_t j = 0; j < d; j++) most = fmax(most, rest[j] = cov[j * d + j]);
    for (size_t k = 0; k < d; k++) {
        size_t p = 0;
        for (size_t j = 1; j < d; j++)
            if (rest[j] > rest[p]) p = j;
        if (!(rest[p] > 1e-16 * (double)d * most)) return (int)k;
        next_row(root, k, cov, p, d, 1 / sqrt(rest[p]));
        for (size_t j = 0; j < d; j++) rest[j] -= root[k * d + j] * root[k * d + j];
        rest[p] = -1;
    }
    return (int)d;
}

dg_err dg_normal_from(const double *mean, const double *cov, int d, dg_normal *out)
{
    const size_t D = (size_t)d;
    *out = (dg_normal){.d = d, .trace = trace(cov, D), .mean = malloc((D + D + D * D) * sizeof *out->mean)};
    if (!out->mean) return dg_fail(DG_DEVICE, "out of memory for covariances of %d features", d);
    memcpy(out->mean, mean, D * sizeof *mean);
    out->root = out->mean + D;
    if (isfinite(out->trace)) out->rank = take_root(out->root, cov, D, out->root + D * D);
    return DG_OK;
}

dg_err dg_normal_of(const double *x, int n, int d, dg_normal *out)
{
    const size_t D = (size_t)d;
    double *mean = malloc((D + D * D) * sizeof *mean);
    *out = (dg_normal){0};
    if (!mean) return dg_fail(DG_DEVICE, "out of memory for covariances of %d features", d);
    dg_err e = dg_moments_of(x, n, d, mean, mean + D);
    if (!e) e = dg_normal_from(mean, mean + D, d, out);
    free(mean);
    return e;
}

void dg_normal_free(dg_normal *x)
{
    free(x->mean);
    *x = (dg_normal){0};
}

/* Compute the trace of (A B)^(1/2) for covariances A = R^T R and B = S^T S. The trace is the sum of sqrt(e) over all
 * eigenvalues e of R S^T S R^T. */
static dg_err trace_of_root(const dg_normal *x, const dg_normal *y, double *out)
{
    const int n = x->rank, m = y->rank;
    double *product = malloc(((size_t)n * (size_t)m + (size_t)n * (size_t)n + (size_t)n + 1) * sizeof *product);
    if (!product) return dg_fail(DG_DEVICE, "out of memory for covariances of %d features", x->d);
    double *square = product + (size_t)n * (size_t)m, *w = square + (size_t)n * (size_t)n;
    dg_err e = multiply(product, x->root, y->root, n, x->d, m);
    if (!e) e = multiply(square, product, product, n, m, n);
    if (!e) e = dg_eigenvalues(square, n, w);
    *out = 0;
    for (int i = 0; i < n && !e; i++) *out += root(w[i]);
    free(product);
    return e;
}

dg_err dg_frechet_between(const dg_normal *x, const dg_normal *y, double *out)
{
    double apart = 0, both = 0;
    for (int k = 0; k < x->d; k++) apart += (x->mean[k] - y->mean[k]) * (x->mean[k] - y->mean[k]);
    const double sum = apart + x->trace + y->trace;
    dg_err e = DG_OK;
    if (isfinite(sum) && x->rank && y->rank)
        e = x->rank <= y->rank ? trace_of_root(x, y, &both) : trace_of_root(y, x, &both);
    *out = sum < 2 * both ? 0 : sum - 2 * both;
    return e;
}

dg_err dg_frechet_from(const dg_normal *x, const double *y, int m, double *out)
{
    dg_normal normal;
    dg_err e = dg_normal_of(y, m, x->d, &normal);
    if (!e) e = dg_frechet_between(x, &normal, out);
    dg_normal_free(&normal);
    return e;
}

dg_err dg_frechet(const double *x, int n, const double *y, int m, int d, double *out)
{
    dg_normal normal;
    dg_err e = dg_normal_of(x, n, d, &normal);
    if (!e) e = dg_frechet_from(&normal, y, m, out);
    dg_normal_free(&normal);
    return e;
}
