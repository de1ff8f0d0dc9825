/* Sorting of numbers. */
#pragma once

#include <stdlib.h>

static inline int dg_ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static inline void dg_sort(double *value, int n)
{
    if (n) qsort(value, (size_t)n, sizeof *value, dg_ascending);
}

/* Requires n >= 1. */
static inline double dg_sort_median(double *value, int n)
{
    dg_sort(value, n);
    return (value[(n - 1) / 2] + value[n / 2]) / 2;
}
