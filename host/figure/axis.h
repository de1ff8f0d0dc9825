/* Axes of plots, for curves.png and report.html. */
#ifndef DG_AXIS_H
#define DG_AXIS_H

#include <math.h>
#include <stdbool.h>

enum { DG_AXIS_TICKS = 100 };

typedef struct {
    double low, high, step; /* ticks at multiples of step */
} dg_axis;

/* True if a plot can show v. Differences of values beyond 1e100 overflow. */
static inline bool dg_axis_shows(double v) { return isfinite(v) && fabs(v) < 1e100; }

/* Distance of ticks: the smallest of 1, 2, 5 times a power of ten that gives at most `most` parts. */
static inline double dg_axis_step(double range, int most)
{
    static const double factor[] = {1, 2, 5, 10, 20};
    const double power = pow(10, floor(log10(range / most)));
    int i = 0;
    while (i < 4 && range / (factor[i] * power) > most + 1e-9) i++;
    return factor[i] * power;
}

static inline int dg_axis_ticks(const dg_axis *a, double v[DG_AXIS_TICKS])
{
    int n = 0;
    const double first = ceil(a->low / a->step - 1e-9);
    for (; n < DG_AXIS_TICKS && (first + n) * a->step <= a->high + 1e-9 * a->step; n++)
        v[n] = (first + n) * a->step + 0.;
    return n;
}

static inline int dg_axis_rising(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

#endif
