/* Frechet distance of normal distributions fitted to two point sets (Dowson & Landau 1982, Heusel et al. 2017): |m -
 * m'|^2 + tr(S + S' - 2 (S S')^(1/2)) with means m, m' and covariances S, S'. */
#pragma once

#include "core/base/err.h"

/* Compute the Frechet distance of the points x (n, d) and y (m, d); n, m >= 2. */
dg_err dg_frechet(const double *x, int n, const double *y, int m, int d, double *out);

/* Compute the mean (d) and the covariance cov (d, d) of the points x (n, d), with divisor n - 1. */
dg_err dg_moments_of(const double *x, int n, int d, double *mean, double *cov);

/* dg_normal_of fits a normal distribution to a point set, which is slow. The function dg_frechet_from computes the
 * Frechet distance of points from this distribution. Release a dg_normal with dg_normal_free, even after errors. */
typedef struct {
    int d, rank;
    double *mean, *root; /* mean (d); root (rank, d): root^T root is the covariance */
    double trace;
} dg_normal;
dg_err dg_normal_of(const double *x, int n, int d, dg_normal *out);
dg_err dg_normal_from(const double *mean, const double *cov, int d, dg_normal *out);
void dg_normal_free(dg_normal *x);
dg_err dg_frechet_between(const dg_normal *x, const dg_normal *y, double *out);
dg_err dg_frechet_from(const dg_normal *x, const double *y, int m, double *out);

/* Compute the eigenvalues w, ascending, of the symmetric matrix a (n, n). The rows of a become the eigenvectors. */
dg_err dg_eigen(double *a, int n, double *w);
/* Compute the eigenvalues w, unsorted, of the symmetric matrix a (n, n). a is overwritten. */
dg_err dg_eigenvalues(double *a, int n, double *w);
