#include "host/judge/frechet.h"

#include <math.h>
#include <stdlib.h>

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

/* Compute the mean (d) and the covariance cov (d, d) of the points x (n, d). */
static dg_err moments(const double *x, size_t n, size_t d, double *mean, double *cov)
{
    double *turned = calloc(n * d, sizeof *turned); /* (d, n): x - mean, transposed */
    if (!turned) return dg_fail(DG_DEVICE, "out of memory for covariances of %zu features", d);
    for (size_t k = 0; k < d; k++) mean[k] = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < d; k++) mean[k] += x[i * d + k] / (double)n;
    for (size_t k = 0; k < d; k++)
        for (size_t i = 0; i < n; i++) turned[k * n + i] = x[i * d + k] - mean[k];
    const dg_err e = multiply(cov, turned, turned, (int)d, (int)n, (int)d);
    for (size_t k = 0; k < d * d && !e; k++) cov[k] /= (double)(n - 1);
    free(turned);
    return e;
}

static double trace(const double *a, size_t d)
{
    double sum = 0;
    for (size_t i = 0; i < d; i++) sum += a[i * d + i];
    return sum;
}

static double root(double x) { return x > 0 ? sqrt(x) : 0; } /* negative eigenvalues are rounding errors */

dg_err dg_normal_of(const double *x, int n, int d, dg_normal *out)
{
    const size_t D = (size_t)d;
    *out = (dg_normal){.d = d, .mean = malloc((D + D + D * D) * sizeof *out->mean)};
    if (!out->mean) return dg_fail(DG_DEVICE, "out of memory for covariances of %d features", d);
    out->root = out->mean + D;
    double *w = out->root + D * D;
    dg_err e = moments(x, (size_t)n, D, out->mean, out->root);
    out->trace = trace(out->root, D);
    if (e || !isfinite(out->trace)) return e;
    e = dg_eigen(out->root, d, w);
    for (size_t i = 0; i < D; i++)
        for (size_t k = 0; k < D; k++) out->root[i * D + k] *= root(w[i]);
    return e;
}

void dg_normal_free(dg_normal *x)
{
    free(x->mean);
    *x = (dg_normal){0};
}

/* Compute the trace of (A B)^(1/2) for covariances A = V W V^T and B. The trace is the sum of sqrt(e) over all
 * eigenvalues e of W^(1/2) V^T B V W^(1/2). The distribution x has covariance A. The matrix s (d, d) is B, and is
 * overwritten. The matrix t (d, d) is scratch memory. */
static dg_err trace_of_root(const dg_normal *x, double *s, double *t, double *w, double *out)
{
    const int d = x->d;
    dg_err e = multiply(t, x->root, s, d, d, d);
    if (!e) e = multiply(s, t, x->root, d, d, d);
    if (!e) e = dg_eigenvalues(s, d, w);
    *out = 0;
    for (int i = 0; i < d && !e; i++) *out += root(w[i]);
    return e;
}

dg_err dg_frechet_from(const dg_normal *x, const double *y, int m, double *out)
{
    const size_t d = (size_t)x->d;
    double *mean = malloc((2 * d + 2 * d * d) * sizeof *mean), apart = 0, both = 0;
    if (!mean) return dg_fail(DG_DEVICE, "out of memory for covariances of %zu features", d);
    double *w = mean + d, *s = w + d, *t = s + d * d;
    dg_err e = moments(y, (size_t)m, d, mean, s);
    for (size_t k = 0; k < d; k++) apart += (x->mean[k] - mean[k]) * (x->mean[k] - mean[k]);
    const double sum = apart + x->trace + trace(s, d);
    if (!e && isfinite(sum)) e = trace_of_root(x, s, t, w, &both);
    *out = sum < 2 * both ? 0 : sum - 2 * both;
    free(mean);
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
