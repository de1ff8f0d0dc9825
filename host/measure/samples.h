/* Times of one thing that is done over and over: their median, and how sure it is. */
#ifndef DG_SAMPLES_H
#define DG_SAMPLES_H

#include <stdbool.h>

#include "core/base/err.h"

typedef struct {
    int n, room;
    double *value; /* in the order in which they came */
} dg_samples;

dg_err dg_samples_add(dg_samples *s, double value);
void dg_samples_free(dg_samples *s);

/* Puts n values, at least one, in ascending order: their median. */
double dg_sort_median(double *value, int n);

/* All by ranks alone, so that one value that is far off does nothing. */
typedef struct {
    double median, low, high; /* low and high: its 95% interval; of fewer than six values all of them */
    double quick;             /* a tenth of the values are faster: what other programs have not made longer */
} dg_spread;

/* Of no value: zeros. DG_DEVICE: no memory to sort in. */
dg_err dg_samples_spread(const dg_samples *s, dg_spread *out);

/* Enough of them for a median? At least 5, and then until the interval is within 1% of the median on both sides or
 * this many seconds have passed. Asked often, it looks only now and then. */
bool dg_samples_enough(const dg_samples *s, double seconds, double most_seconds);

#endif
