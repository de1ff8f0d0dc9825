/* Products of large matrices whose result is symmetric, in double on the CPU, and the inverse square root that they
 * make. The same bits with any number of threads. */
#ifndef DG_SYMMETRIC_H
#define DG_SYMMETRIC_H

#include <signal.h>

#include "core/plan/plan.h"

/* For matrices of n x n. Who waits is told of products that are done, and may stop them between two: DG_FAILED. */
typedef struct {
    int n;
    long done, total;
    void (*progress)(void *context, long done, long total); /* may be NULL */
    void *context;
    volatile sig_atomic_t *stop; /* may be NULL */
    dg_backend *b;
    dg_arena arena;
    dg_plan plan;
    int x, w, y; /* rows of the arena */
    double *panels;
} dg_symmetric;

/* n, progress, context and stop are set. Close it after errors, too. */
dg_err dg_symmetric_open(dg_symmetric *s, int threads);
void dg_symmetric_close(dg_symmetric *s);

/* out = a b', of which the lower half is computed; out may be a or b. */
dg_err dg_symmetric_product(dg_symmetric *s, const double *a, const double *b, double *out);

/* a^(-1/2) of a symmetric matrix whose eigenvalues are at least `least`, above 0; a is used up. */
dg_err dg_symmetric_inverse_root(dg_symmetric *s, double *a, double least, double *out);
/* How many products that takes, the largest eigenvalue being at most `most`. */
long dg_inverse_root_products(double least, double most);
/* A bound of the eigenvalues: the largest sum of a row's magnitudes. */
double dg_symmetric_most(const double *a, int n);

#endif
