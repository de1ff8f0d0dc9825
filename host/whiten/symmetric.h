/* Symmetric products of large matrices, and the inverse square root computed with them: double, on the CPU, the same
 * bits with any number of threads. */
#ifndef DG_SYMMETRIC_H
#define DG_SYMMETRIC_H

#include <signal.h>

#include "host/whiten/products.h"

/* For n x n matrices. Between products, `progress` is called, and a nonzero *stop ends the work with DG_FAILED. */
typedef struct {
    int n;
    long done, total;
    void (*progress)(void *context, long done, long total); /* may be NULL */
    void *context;
    volatile sig_atomic_t *stop;
    dg_own_plan own;
    int xwy[3];
    double *panels;
} dg_symmetric;

/* The caller sets n, progress, context and stop. Close s even after an error. */
dg_err dg_symmetric_open(dg_symmetric *s, int threads);
void dg_symmetric_close(dg_symmetric *s);

/* out = a b', computed for the lower half and mirrored; out may be a or b. */
dg_err dg_symmetric_product(dg_symmetric *s, const double *a, const double *b, double *out);

/* a^(-1/2) of a symmetric matrix whose eigenvalues are at least `least` > 0; a is overwritten. */
dg_err dg_symmetric_inverse_root(dg_symmetric *s, double *a, double least, double *out);
/* Number of products that dg_symmetric_inverse_root computes, for eigenvalues up to `most`. */
long dg_inverse_root_products(double least, double most);
/* Upper bound of the eigenvalues: the largest sum of magnitudes in a row. */
double dg_symmetric_most(const double *a, int n);

#endif
