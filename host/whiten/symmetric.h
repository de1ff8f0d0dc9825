/* Symmetric products and inverse square roots of large matrices in fp64 on the CPU; bits do not depend on threads. */
#pragma once

#include <signal.h>

#include "host/whiten/products.h"

/* `progress` is called between products. A nonzero *stop ends the call with DG_FAILED. */
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

/* Set s->n, progress, context and stop before the call. Close s also after errors. */
dg_err dg_symmetric_open(dg_symmetric *s, int threads);
void dg_symmetric_close(dg_symmetric *s);

/* out = a b^T, which must be symmetric: only the lower triangle is computed, and then mirrored. out may be a or b. */
dg_err dg_symmetric_product(dg_symmetric *s, const double *a, const double *b, double *out);

/* out = a^(-1/2) for a symmetric matrix a with eigenvalues >= least > 0; a is overwritten. */
dg_err dg_symmetric_inverse_root(dg_symmetric *s, double *a, double least, double *out);
long dg_inverse_root_products(double least, double most);
/* Returns an upper bound of the eigenvalues of a: the largest sum of magnitudes in a row. */
double dg_symmetric_most(const double *a, int n);
