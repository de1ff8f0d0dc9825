/* Spectral norm of weights and its gradient. One thread sums each column or row of a product with W in double. */
#include "kernels/cpu/cpu.h"

#include <math.h>

/* MANY: min number of values for which several threads are faster. COLUMNS: columns summed together; their sums fit L1.
 * PARTS: maximum number of parts of a sum over all weights. */
enum { MANY = 1 << 15, COLUMNS = 256, PARTS = 64 };

/* Divides x by max(|x|, eps). Returns |x|^2 / max(|x|, eps) of the previous x. */
static double normalise(real *x, int n, double eps)
{
    double squares = 0;
    for (int i = 0; i < n; i++) squares += (double)x[i] * (double)x[i];
    const double by = sqrt(squares) > eps ? sqrt(squares) : eps;
#pragma omp simd
    for (int i = 0; i < n; i++) x[i] = (real)((double)x[i] / by);
    return squares / by;
}

static void add_columns(real *out, const dg_spectral_args *a, int c0, int n)
{
    const real *w = (const real *)a->w + c0, *u = a->u;
    double sum[COLUMNS] = {0};
    for (int r = 0; r < a->rows; r++, w += a->cols) {
        const double factor = (double)u[r];
#pragma omp simd
        for (int c = 0; c < n; c++) sum[c] += factor * (double)w[c];
    }
    for (int c = 0; c < n; c++) out[c0 + c] = (real)sum[c];
}

static double dot(const real *x, const real *y, int64_t n)
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++) sum += (double)x[i] * (double)y[i];
    return sum;
}

static int parts_of(const dg_spectral_args *a) { return a->rows < PARTS ? a->rows : PARTS; }

static int row_of(const dg_spectral_args *a, int part) { return (int)((int64_t)a->rows * part / parts_of(a)); }

static double in_order(const double *part, int parts)
{
    double sum = 0;
    for (int p = 0; p < parts; p++) sum += part[p];
    return sum;
}

static double row_times_v(const dg_spectral_args *a, int r)
{
    return dot((const real *)a->w + (int64_t)r * a->cols, a->v, a->cols);
}

/* v = W^T u and u = W v, each divided by its length. Returns u^T W v. */
static double iterate(const dg_spectral_args *a)
{
    real *const u = a->u, *const v = a->v;
#pragma omp parallel for schedule(static) if ((int64_t)a->rows * a->cols > MANY)
    for (int c = 0; c < a->cols; c += COLUMNS) add_columns(v, a, c, a->cols - c < COLUMNS ? a->cols - c : COLUMNS);
    normalise(v, a->cols, a->eps);
#pragma omp parallel for schedule(static) if ((int64_t)a->rows * a->cols > MANY)
    for (int r = 0; r < a->rows; r++) u[r] = (real)row_times_v(a, r);
    return normalise(u, a->rows, a->eps);
}

static double product_between(const dg_spectral_args *a)
{
    const int parts = parts_of(a);
    double part[PARTS];
#pragma omp parallel for schedule(static) if ((int64_t)a->rows * a->cols > MANY)
    for (int p = 0; p < parts; p++) {
        part[p] = 0;
        for (int r = row_of(a, p); r < row_of(a, p + 1); r++)
            part[p] += (double)((const real *)a->u)[r] * row_times_v(a, r);
    }
    return in_order(part, parts);
}

DG_CPU_OP(spectral, spectral)
{
    const real sigma = *(real *)a->sigma = (real)(a->iterate ? iterate(a) : product_between(a));
#pragma omp parallel for schedule(static) if ((int64_t)a->rows * a->cols > MANY)
    for (int r = 0; r < a->rows; r++) {
        const real *const w = (const real *)a->w + (int64_t)r * a->cols;
        real *const wn = (real *)a->wn + (int64_t)r * a->cols;
#pragma omp simd
        for (int c = 0; c < a->cols; c++) wn[c] = w[c] / sigma;
    }
}

/* sum(dwn wn) */
static double product_of(const dg_spectral_args *a)
{
    const int parts = parts_of(a);
    double part[PARTS];
#pragma omp parallel for schedule(static) if ((int64_t)a->rows * a->cols > MANY)
    for (int p = 0; p < parts; p++) {
        const int64_t lo = (int64_t)row_of(a, p) * a->cols, hi = (int64_t)row_of(a, p + 1) * a->cols;
        part[p] = dot((const real *)a->dwn + lo, (const real *)a->wn + lo, hi - lo);
    }
    return in_order(part, parts);
}

DG_CPU_OP(spectral_dw, spectral)
{
    const double sum = product_of(a);
    const real *const u = a->u, *const v = a->v, sigma = *(const real *)a->sigma;
#pragma omp parallel for schedule(static) if ((int64_t)a->rows * a->cols > MANY)
    for (int r = 0; r < a->rows; r++) {
        const real *const dwn = (const real *)a->dwn + (int64_t)r * a->cols, along = (real)(sum * (double)u[r]);
        real *const dw = (real *)a->dw + (int64_t)r * a->cols;
#pragma omp simd
        for (int c = 0; c < a->cols; c++) dw[c] = (dwn[c] - along * v[c]) / sigma;
    }
}
