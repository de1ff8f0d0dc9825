/* Kernel Inception distance (Binkowski et al. 2018): the unbiased estimate of the squared maximum mean discrepancy of
 * two point sets, with kernel (x.y / d + 1)^3. Its expected value does not depend on the number of points. */
#pragma once

#include <stdint.h>

#include "core/base/err.h"

enum {
    DG_KID_SUBSETS = 100,
    DG_KID_SUBSET = 1000, /* max points of each set per subset; a subset has at most half of the smaller set */
    DG_KID_LEAST = 4      /* min points per set */
};

typedef struct {
    double value, deviation; /* mean and standard deviation over the subsets */
} dg_kid;

/* Compute the KID of the points x (n, d) and y (m, d). The seed draws the subsets. The result may be infinite or NaN
 * if the points are. */
dg_err dg_kid_of(const double *x, int n, const double *y, int m, int d, uint64_t seed, int threads, dg_kid *out);
