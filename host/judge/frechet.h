/* The Frechet distance of normal distributions fitted to two sets of points (Dowson & Landau 1982; images: Heusel et
 * al. 2017): |m - m'|^2 + tr(S + S' - 2 (S S')^(1/2)). */
#ifndef DG_FRECHET_H
#define DG_FRECHET_H

#include "core/base/err.h"

/* x: (n, d), y: (m, d); n, m >= 2. */
dg_err dg_frechet(const double *x, int n, const double *y, int m, int d, double *out);

/* The Frechet distance in two steps: dg_normal_of fits a normal distribution to one set, which is the slow step. Call
 * dg_normal_free after errors too. */
typedef struct {
    int d;
    double *mean, *root; /* mean (d); root (d, d) with root' root = covariance */
    double trace;
} dg_normal;
dg_err dg_normal_of(const double *x, int n, int d, dg_normal *out);
void dg_normal_free(dg_normal *x);
dg_err dg_frechet_from(const dg_normal *x, const double *y, int m, double *out);

/* Compute the eigenvalues w, ascending, of the symmetric matrix a (n, n); a becomes the eigenvectors, one per row. */
dg_err dg_eigen(double *a, int n, double *w);
/* Compute the eigenvalues of a in any order; a is overwritten. */
dg_err dg_eigenvalues(double *a, int n, double *w);

#endif
