/* The Frechet distance of two sets of points, each taken for a normal distribution (Dowson & Landau 1982; Heusel et al.
 * 2017 of pictures): |m - m'|^2 + tr(S + S' - 2 (S S')^(1/2)). */
#ifndef DG_FRECHET_H
#define DG_FRECHET_H

#include "core/base/err.h"

/* x: (n, d), y: (m, d); n, m >= 2. */
dg_err dg_frechet(const double *x, int n, const double *y, int m, int d, double *out);

/* Eigenvalues w, rising, of the symmetric a (n, n), and in its place their vectors, a row each. */
dg_err dg_eigen(double *a, int n, double *w);

#endif
