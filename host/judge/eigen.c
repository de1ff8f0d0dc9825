/* Eigenvectors of a symmetric matrix: LAPACK's, where there is LAPACK, otherwise by Jacobi's rotations (Golub & Van
 * Loan, 8.5), which are as exact and slower: seconds for 500 rows. */
#include <math.h>
#include <stdlib.h>

#include "host/judge/frechet.h"

#ifdef HAVE_LAPACK

void dsyevd_(const char *job, const char *half, const int *n, double *a, const int *lda, double *w, double *work,
             const int *lwork, int *iwork, const int *liwork, int *info, size_t, size_t);

dg_err dg_eigen(double *a, int n, double *w)
{
    double size;
    int whole, info, all = -1;
    dsyevd_("V", "U", &n, a, &n, w, &size, &all, &whole, &all, &info, 1, 1);
    const int doubles = (int)size;
    double *work = malloc((size_t)doubles * sizeof *work);
    int *integers = malloc((size_t)whole * sizeof *integers);
    if (work && integers) dsyevd_("V", "U", &n, a, &n, w, work, &doubles, integers, &whole, &info, 1, 1);
    const dg_err e = !work || !integers ? dg_fail(DG_DEVICE, "out of memory for a matrix of %d rows", n)
                     : info             ? dg_fail(DG_NUMBERS, "LAPACK finds no eigenvalues of a matrix of %d rows", n)
                                        : DG_OK;
    free(work);
    free(integers);
    return e;
}

#else

enum { SWEEPS = 60 };

/* Turn rows and columns p and q of a so that a[p, q] becomes 0, and rows p and q of v with them. */
static void rotate(double *a, double *v, size_t n, size_t p, size_t q)
{
    const double theta = (a[q * n + q] - a[p * n + p]) / (2 * a[p * n + q]);
    const double t = (theta < 0 ? -1 : 1) / (fabs(theta) + sqrt(theta * theta + 1)), c = 1 / sqrt(t * t + 1), s = t * c;
    for (size_t k = 0; k < n; k++) {
        const double x = a[k * n + p], y = a[k * n + q];
        a[k * n + p] = c * x - s * y;
        a[k * n + q] = s * x + c * y;
    }
    for (size_t k = 0; k < n; k++) {
        const double x = a[p * n + k], y = a[q * n + k], f = v[p * n + k], g = v[q * n + k];
        a[p * n + k] = c * x - s * y;
        a[q * n + k] = s * x + c * y;
        v[p * n + k] = c * f - s * g;
        v[q * n + k] = s * f + c * g;
    }
}

/* One rotation for each value beside the diagonal that is not nothing; how many there were. */
static size_t sweep(double *a, double *v, size_t n)
{
    size_t turned = 0;
    for (size_t p = 0; p < n; p++)
        for (size_t q = p + 1; q < n; q++)
            if (fabs(a[p * n + q]) > 1e-17 * sqrt(fabs(a[p * n + p]) * fabs(a[q * n + q])) && a[p * n + q] != 0) {
                rotate(a, v, n, p, q);
                turned++;
            }
    return turned;
}

static void swap(double *x, double *y, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        const double t = x[k];
        x[k] = y[k];
        y[k] = t;
    }
}

dg_err dg_eigen(double *a, int rows, double *w)
{
    const size_t n = (size_t)rows;
    double *v = calloc(n * n, sizeof *v);
    if (!v) return dg_fail(DG_DEVICE, "out of memory for a matrix of %d rows", rows);
    for (size_t i = 0; i < n; i++) v[i * n + i] = 1;
    int sweeps = 0;
    while (sweeps < SWEEPS && sweep(a, v, n)) sweeps++;
    if (sweeps == SWEEPS) {
        free(v);
        return dg_fail(DG_NUMBERS, "the eigenvectors of a matrix of %d rows were not found in %d sweeps", rows, SWEEPS);
    }
    for (size_t i = 0; i < n; i++) w[i] = a[i * n + i];
    for (size_t i = 0; i < n * n; i++) a[i] = v[i];
    free(v);
    for (size_t i = 0; i < n; i++) {
        size_t least = i;
        for (size_t k = i + 1; k < n; k++)
            if (w[k] < w[least]) least = k;
        swap(&w[i], &w[least], least != i);
        if (least != i) swap(a + i * n, a + least * n, n);
    }
    return DG_OK;
}

#endif
