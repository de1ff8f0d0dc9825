/* Repeated times of one operation, their median, and the confidence interval of the median. */
#ifndef DG_SAMPLES_H
#define DG_SAMPLES_H

#include <stdbool.h>

#include "core/base/err.h"
#include "core/base/sort.h"

typedef struct {
    int n, room;
    double *value;
} dg_samples;

dg_err dg_samples_add(dg_samples *s, double value);
void dg_samples_free(dg_samples *s);

/* All statistics are values of certain ranks, so that outliers have no influence. */
typedef struct {
    double median, low, high; /* low, high: 95% interval of the median; for fewer than six values, their range */
    double quick;             /* 10th percentile: a time without disturbance by other programs */
} dg_spread;

/* Without values all members are 0. DG_DEVICE: no memory for sorting. */
dg_err dg_samples_spread(const dg_samples *s, dg_spread *out);

/* True after at least 5 values, once the interval is within 1% of the median on both sides or most_seconds have passed.
 * Frequent calls evaluate the interval only now and then. */
bool dg_samples_enough(const dg_samples *s, double seconds, double most_seconds);

#endif
