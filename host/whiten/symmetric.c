#include "host/whiten/symmetric.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PANEL = 256 }; /* result rows per product; columns right of the last row's diagonal element are omitted */

static int panels(int n) { return (n + PANEL - 1) / PANEL; }
static int panel_rows(int n, int i) { return n - i * PANEL < PANEL ? n - i * PANEL : PANEL; }

dg_err dg_symmetric_open(dg_symmetric *s, int threads)
{
    const int n = s->n;
    static const char *const name[3] = {"x", "w", "y"};
    dg_err e = dg_own_begin(&s->own, "product", NULL, threads, DG_F64);
    if (e) return e;
    for (int k = 0; k < 3; k++)
        s->xwy[k] = dg_arena_row(&s->own.arena, name[k], DG_STATE, 0, DG_F64, (dg_shape){n, 1, 1, n});
    int64_t at = 0;
    for (int i = 0; i < panels(n); i++) {
        const int rows = panel_rows(n, i), columns = i * PANEL + rows;
        dg_own_product(&s->own, s->xwy, (int64_t)i * PANEL * n, at, rows, n, columns);
        at += (int64_t)rows * columns;
    }
    e = dg_own_ready(&s->own);
    if (!e && !(s->panels = malloc((size_t)n * (size_t)n * sizeof(double))))
        e = dg_fail(DG_DEVICE, "out of memory for a matrix of %d x %d", n, n);
    return e;
}

void dg_symmetric_close(dg_symmetric *s)
{
    free(s->panels);
    dg_own_close(&s->own);
}

static void unfold(const dg_symmetric *s, double *out)
{
    const size_t n = (size_t)s->n;
    const double *from = s->panels;
    for (int p = 0; p < panels(s->n); p++) {
        const size_t first = (size_t)p * PANEL, end = first + (size_t)panel_rows(s->n, p);
        for (size_t i = first; i < end; i++, from += end) {
            memcpy(out + i * n, from, (i + 1) * sizeof *out);
            for (size_t j = 0; j < i; j++) out[j * n + i] = from[j];
        }
    }
}

dg_err dg_symmetric_product(dg_symmetric *s, const double *a, const double *b, double *out)
{
    const size_t bytes = (size_t)s->n * (size_t)s->n * sizeof *a;
    if (s->stop && *s->stop) return dg_fail(DG_FAILED, "stopped while whitening");
    dg_err e = dg_own_put(&s->own, s->xwy[0], a, bytes);
    if (!e) e = dg_own_put(&s->own, s->xwy[1], b, bytes);
    if (!e) e = s->own.b->run(s->own.b, &s->own.plan);
    if (!e) e = dg_own_get(&s->own, s->panels, s->xwy[2], bytes);
    if (e) return e;
    unfold(s, out);
    s->done++;
    if (s->progress) s->progress(s->context, s->done, s->total);
    return DG_OK;
}

double dg_symmetric_most(const double *a, int n)
{
    double most = 0;
    for (size_t i = 0; i < (size_t)n; i++) {
        double sum = 0;
        for (size_t j = 0; j < (size_t)n; j++) sum += fabs(a[i * (size_t)n + j]);
        most = fmax(most, sum);
    }
    return most;
}

/* Scaled Newton-Schulz step (Chen & Chow 2014, "A stable scaling of Newton-Schulz for improving the sign function
 * computation of a Hermitian matrix"). The eigenvalues of the iterated matrix are s^2 with low <= s <= 1. The step maps
 * s to alpha s (3 - alpha^2 s^2) / 2. alpha maximises the smallest s after the step, which is returned. */
static double scaled_step(double low, double *alpha)
{
    *alpha = sqrt(3 / (1 + low + low * low));
    const double s = *alpha * low;
    return s * (3 - s * s) / 2;
}

/* A Newton-Schulz step reduces the error e = 1 - low to 3/8 e^2. NaN also ends the iteration. */
static bool is_last(double low) { return !(low > 0 && 1 - low >= 1e-8); }

long dg_inverse_root_products(double least, double most)
{
    double low = sqrt(least / most), alpha;
    long rounds = 1;
    for (; !is_last(low); rounds++) low = scaled_step(low, &alpha);
    return rounds > 1 ? 3 * rounds - 3 : 0;
}

static void polynomial(double *m, size_t n, double a, double b)
{
    for (size_t i = 0; i < n * n; i++) m[i] *= -b;
    for (size_t i = 0; i < n; i++) m[i * n + i] += a;
}

/* Iterate from m = a / most and z = 1: q = (3 alpha - alpha^3 m) / 2, m = m q^2 (converges to 1), z = z q. Each m
 * depends only on the previous m, so rounding errors stay bounded. Cheng et al. 2001, "Approximating the logarithm of a
 * matrix to specified accuracy", show bounded errors for another iteration. The coupled Newton-Schulz form diverges if
 * products are computed for one triangle and mirrored. */
static dg_err iterate(dg_symmetric *s, double *m, double low, double *q, double *z)
{
    const size_t n = (size_t)s->n, bytes = n * n * sizeof *m;
    dg_err e = DG_OK;
    for (bool first = true, last = false; !last && !e; first = false) {
        double alpha;
        last = is_last(low);
        low = scaled_step(low, &alpha);
        memcpy(q, m, bytes);
        polynomial(q, n, 1.5 * alpha, 0.5 * alpha * alpha * alpha);
        if (first) memcpy(z, q, bytes);
        else e = dg_symmetric_product(s, z, q, z);
        if (!e && !last) e = dg_symmetric_product(s, m, q, m);
        if (!e && !last) e = dg_symmetric_product(s, m, q, m);
    }
    return e;
}

dg_err dg_symmetric_inverse_root(dg_symmetric *s, double *a, double least, double *out)
{
    const size_t n = (size_t)s->n;
    const double most = dg_symmetric_most(a, s->n);
    double *q = malloc(n * n * sizeof *q);
    if (!q) return dg_fail(DG_DEVICE, "out of memory for a matrix of %zu x %zu", n, n);
    for (size_t i = 0; i < n * n; i++) a[i] /= most;
    const dg_err e = iterate(s, a, sqrt(least / most), q, out);
    for (size_t i = 0; i < n * n; i++) out[i] /= sqrt(most);
    free(q);
    return e;
}
