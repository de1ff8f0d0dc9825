#include "host/judge/frechet.h"

#include <math.h>
#include <stdlib.h>

#include "host/judge/judge_internal.h"

enum { ROWS = 16 }; /* of a covariance that are summed together, so that points are read less often */

/* x becomes its distance from its mean. */
static void centre(double *x, size_t n, size_t d, double *mean)
{
    for (size_t k = 0; k < d; k++) mean[k] = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < d; k++) mean[k] += x[i * d + k] / (double)n;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < d; k++) x[i * d + k] -= mean[k];
}

/* c (d, d) = x^T x / (n - 1); each of its values is summed in the order of the points. */
static void covariance(double *c, const double *x, size_t n, size_t d)
{
#pragma omp parallel for schedule(dynamic)
    for (size_t first = 0; first < d; first += ROWS) {
        const size_t end = first + ROWS < d ? first + ROWS : d;
        for (size_t k = first * d; k < end * d; k++) c[k] = 0;
        for (size_t i = 0; i < n; i++)
            for (size_t r = first; r < end; r++)
                for (size_t k = 0; k < d; k++) c[r * d + k] += x[i * d + r] * x[i * d + k];
        for (size_t k = first * d; k < end * d; k++) c[k] /= (double)(n - 1);
    }
}

/* y (d, d) = a b^T. */
static void multiply(double *y, const double *a, const double *b, size_t d)
{
#pragma omp parallel for
    for (size_t i = 0; i < d; i++)
        for (size_t k = 0; k < d; k++) {
            double sum = 0;
            for (size_t j = 0; j < d; j++) sum += a[i * d + j] * b[k * d + j];
            y[i * d + k] = sum;
        }
}

static double root(double x) { return x > 0 ? sqrt(x) : 0; } /* of rounding, an eigenvalue may be a little below 0 */

/* tr (S S')^(1/2): with S = V W V^T it is the sum of the roots of the eigenvalues of W^(1/2) V^T S' V W^(1/2). s is
 * lost; t, u: room for as many values. */
static dg_err trace_of_root(double *s, const double *other, double *t, double *u, double *w, size_t d, double *out)
{
    dg_err e = dg_eigen(s, (int)d, w);
    if (e) return e;
    for (size_t i = 0; i < d; i++)
        for (size_t k = 0; k < d; k++) s[i * d + k] *= root(w[i]);
    multiply(t, s, other, d);
    multiply(u, t, s, d);
    e = dg_eigen(u, (int)d, w);
    *out = 0;
    for (size_t i = 0; i < d && !e; i++) *out += root(w[i]);
    return e;
}

static dg_err distance(double *x, size_t n, double *y, size_t m, size_t d, double *room, double *out)
{
    double *s = room, *other = s + d * d, *t = other + d * d, *u = t + d * d, *mean = u + d * d, *w = mean + 2 * d;
    double sum = 0, trace = 0;
    centre(x, n, d, mean);
    centre(y, m, d, mean + d);
    covariance(s, x, n, d);
    covariance(other, y, m, d);
    for (size_t k = 0; k < d; k++) {
        const double apart = mean[k] - mean[d + k];
        sum += apart * apart + s[k * d + k] + other[k * d + k];
    }
    if (!isfinite(sum)) { /* no matrix to take apart */
        *out = sum;
        return DG_OK;
    }
    const dg_err e = trace_of_root(s, other, t, u, w, d, &trace);
    *out = sum > 2 * trace ? sum - 2 * trace : 0;
    return e;
}

static double *copy(const double *x, size_t n)
{
    double *out = malloc(n * sizeof *out);
    for (size_t i = 0; out && i < n; i++) out[i] = x[i];
    return out;
}

dg_err dg_frechet(const double *x, int n, const double *y, int m, int d, double *out)
{
    const size_t D = (size_t)d;
    double *a = copy(x, (size_t)n * D), *b = copy(y, (size_t)m * D), *room = malloc((4 * D + 3) * D * sizeof *room);
    const dg_err e = a && b && room ? distance(a, (size_t)n, b, (size_t)m, D, room, out)
                                    : dg_fail(DG_DEVICE, "out of memory for covariances of %d features", d);
    free(a);
    free(b);
    free(room);
    return e;
}

dg_err dg_judge_frechet(const dg_jury *j, const dg_judged *reals, const dg_judged *other, dg_measured *out)
{
    return dg_frechet(reals->hidden, j->count, other->hidden, j->count, dg_labeller_features(j->labeller), &out->value);
}
