/* Computes eigenvectors of a symmetric matrix by Householder tridiagonalisation and implicit QL (Golub & Van Loan,
 * 8.3). A 768 x 768 matrix takes seconds. Sums have a fixed order, so results are bit-identical on every machine. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "host/judge/frechet.h"

enum { STEPS = 60 }; /* max QL steps per eigenvalue; an eigenvalue typically needs three */

/* Compute the Householder reflection I - beta v v^T that maps x (n) to (*kept, 0, ...); x becomes v. Returns beta. */
static double reflect(double *x, size_t n, double *kept)
{
    double square = 0;
    for (size_t i = 0; i < n; i++) square += x[i] * x[i];
    const double rest = square - x[0] * x[0];
    *kept = x[0];
    if (!(rest > 0)) return 0;
    *kept = x[0] > 0 ? -sqrt(square) : sqrt(square);
    x[0] -= *kept;
    square = 0;
    for (size_t i = 0; i < n; i++) square += x[i] * x[i];
    return 2 / square;
}

enum { COLUMNS = 64, ALONE = 256 }; /* matrices of at most ALONE rows are computed by one thread */

/* Compute p = b a v for the rows and columns of the symmetric matrix a (n, n) from `first` on. Threads divide columns,
 * so each sum has a fixed order. */
static void multiply(const double *a, size_t n, size_t first, const double *v, double b, double *p)
{
#pragma omp parallel for if (n - first > ALONE)
    for (size_t from = first; from < n; from += COLUMNS) {
        const size_t to = from + COLUMNS < n ? from + COLUMNS : n;
        for (size_t i = from; i < to; i++) p[i] = 0;
        for (size_t j = first; j < n; j++)
            for (size_t i = from; i < to; i++) p[i] += a[j * n + i] * v[j];
        for (size_t i = from; i < to; i++) p[i] *= b;
    }
}

/* Tridiagonalise a (n, n) to diagonal w and off-diagonal e. Row k of a becomes Householder vector k. p: scratch. */
static void tridiagonalise(double *a, size_t n, double *w, double *e, double *beta, double *p)
{
    for (size_t k = 0; k + 1 < n; k++) {
        double *v = a + k * n, vp = 0;
        const double b = beta[k] = reflect(v + k + 1, n - k - 1, &e[k]);
        if (b == 0) continue;
        multiply(a, n, k + 1, v, b, p);
        for (size_t i = k + 1; i < n; i++) vp += v[i] * p[i];
        for (size_t i = k + 1; i < n; i++) p[i] -= b / 2 * vp * v[i];
#pragma omp parallel for if (n - k > ALONE)
        for (size_t i = k + 1; i < n; i++)
            for (size_t j = k + 1; j < n; j++) a[i * n + j] -= v[i] * p[j] + p[i] * v[j];
    }
    for (size_t i = 0; i < n; i++) w[i] = a[i * n + i];
    e[n - 1] = 0;
}

/* Set q (n, n) to the transposed product of the Householder reflections in a. The caller sets q to 0, and provides
 * scratch memory u (n). */
static void multiply_out(double *q, const double *a, size_t n, const double *beta, double *u)
{
    for (size_t i = 0; i < n; i++) q[i * n + i] = 1;
    for (size_t k = n - 1; k-- > 0;) {
        const double *v = a + k * n;
        for (size_t j = k + 1; j < n; j++) u[j] = 0;
        for (size_t i = k + 1; i < n; i++)
            for (size_t j = k + 1; j < n; j++) u[j] += v[i] * q[i * n + j];
        for (size_t i = k + 1; i < n; i++)
            for (size_t j = k + 1; j < n; j++) q[i * n + j] -= beta[k] * v[i] * u[j];
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++) {
            const double t = q[i * n + j];
            q[i * n + j] = q[j * n + i];
            q[j * n + i] = t;
        }
}

static void rotate(double *v, size_t n, size_t i, double c, double s)
{
    double *x = v + i * n, *y = x + n;
    for (size_t k = 0; k < n; k++) {
        const double f = y[k];
        y[k] = s * x[k] + c * f;
        x[k] = c * x[k] - s * f;
    }
}

/* Run one implicit QL step on rows first .. last of a tridiagonal matrix. `v` has eigenvectors to update, or is
 * NULL. */
static void step(double *w, double *e, double *v, size_t n, size_t first, size_t last)
{
    const double half = (w[first + 1] - w[first]) / (2 * e[first]), root = hypot(half, 1);
    double g = w[last] - w[first] + e[first] / (half + (half < 0 ? -root : root)), s = 1, c = 1, p = 0;
    for (size_t i = last; i-- > first;) {
        const double f = s * e[i], b = c * e[i], r = hypot(f, g);
        e[i + 1] = r;
        if (r == 0) {
            w[i + 1] -= p;
            e[last] = 0;
            return;
        }
        s = f / r;
        c = g / r;
        g = w[i + 1] - p;
        const double t = (w[i] - g) * s + 2 * c * b;
        p = s * t;
        w[i + 1] = g + p;
        g = c * t - b;
        if (v) rotate(v, n, i, c, s);
    }
    w[first] -= p;
    e[first] = g;
    e[last] = 0;
}

static bool solve(double *w, double *e, double *v, size_t n)
{
    double most = 0; /* largest magnitude; the tolerance is relative to `most`, because eigenvalues may be 0 */
    for (size_t i = 0; i < n; i++) most = fmax(most, fabs(w[i]) + fabs(e[i]));
    for (size_t first = 0; first < n; first++) {
        for (int steps = 0;; steps++) {
            size_t last = first;
            while (last + 1 < n && fabs(e[last]) > 1e-16 * most) last++;
            if (last == first) break;
            if (steps == STEPS) return false;
            step(w, e, v, n, first, last);
        }
    }
    return true;
}

static void swap(double *x, double *y, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        const double t = x[k];
        x[k] = y[k];
        y[k] = t;
    }
}

static dg_err decompose(double *a, size_t n, double *w, double *v, double *room)
{
    double *e = room, *beta = e + n, *p = beta + n;
    tridiagonalise(a, n, w, e, beta, p);
    if (v) multiply_out(v, a, n, beta, p);
    if (!solve(w, e, v, n))
        return dg_fail(DG_NUMBERS, "eigenvalues of a %zu x %zu matrix: no convergence in %d steps", n, n, STEPS);
    for (size_t i = 0; i < n && v; i++) {
        size_t least = i;
        for (size_t k = i + 1; k < n; k++)
            if (w[k] < w[least]) least = k;
        swap(&w[i], &w[least], least != i);
        if (least != i) swap(v + i * n, v + least * n, n);
    }
    for (size_t i = 0; i < n * n && v; i++) a[i] = v[i];
    return DG_OK;
}

dg_err dg_eigen(double *a, int rows, double *w)
{
    const size_t n = (size_t)rows;
    double *v = calloc(n * n + 3 * n, sizeof *v);
    const dg_err e = v ? decompose(a, n, w, v, v + n * n)
                       : dg_fail(DG_DEVICE, "out of memory for a matrix of %d rows", rows);
    free(v);
    return e;
}

dg_err dg_eigenvalues(double *a, int rows, double *w)
{
    double *room = malloc(3 * (size_t)rows * sizeof *room);
    const dg_err e = room ? decompose(a, (size_t)rows, w, NULL, room)
                          : dg_fail(DG_DEVICE, "out of memory for a matrix of %d rows", rows);
    free(room);
    return e;
}
