/* The Frechet distance of two sets of points, each taken for a normal distribution (Dowson & Landau 1982; Heusel et al.
 * 2017 of images): |m - m'|^2 + tr(S + S' - 2 (S S')^(1/2)). */
#ifndef DG_FRECHET_H
#define DG_FRECHET_H

#include "core/base/err.h"

/* x: (n, d), y: (m, d); n, m >= 2. */
dg_err dg_frechet(const double *x, int n, const double *y, int m, int d, double *out);

/* The same in two steps, of which the first is longer: points as a normal distribution, freed after errors, too. */
typedef struct {
    int d;
    double *mean, *root; /* (d), and R (d, d) with R'R the covariance */
    double trace;        /* of that */
} dg_normal;
dg_err dg_normal_of(const double *x, int n, int d, dg_normal *out);
void dg_normal_free(dg_normal *x);
dg_err dg_frechet_from(const dg_normal *x, const double *y, int m, double *out);

/* Eigenvalues w, rising, of the symmetric a (n, n), and in its place their vectors, a row each. */
dg_err dg_eigen(double *a, int n, double *w);
/* The values alone, in any order; a is lost. */
dg_err dg_eigenvalues(double *a, int n, double *w);

#endif
