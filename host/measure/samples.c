#include "host/measure/samples.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST = 5 };
#define WITHIN 0.01

dg_err dg_samples_add(dg_samples *s, double value)
{
    if (s->n == s->room) {
        const int room = s->room ? 2 * s->room : 64;
        double *more = realloc(s->value, (size_t)room * sizeof *more);
        if (!more) return dg_fail(DG_DEVICE, "out of memory for %d times", room);
        s->value = more;
        s->room = room;
    }
    s->value[s->n++] = value;
    return DG_OK;
}

void dg_samples_free(dg_samples *s)
{
    free(s->value);
    *s = (dg_samples){.n = 0};
}

dg_err dg_samples_spread(const dg_samples *s, dg_spread *r)
{
    double *sorted = malloc((size_t)(s->n + 1) * sizeof *sorted);
    if (!sorted) return dg_fail(DG_DEVICE, "out of memory for %d times", s->n);
    *r = (dg_spread){0};
    if (s->n) {
        /* the binomial distribution gives the ranks of the median's 95% interval */
        const int out = (int)fmax(0, floor(s->n / 2.0 - 0.98 * sqrt(s->n)));
        memcpy(sorted, s->value, (size_t)s->n * sizeof *sorted);
        r->median = dg_sort_median(sorted, s->n);
        r->low = sorted[out];
        r->high = sorted[s->n - 1 - out];
        r->quick = sorted[(s->n - 1) / 10];
    }
    free(sorted);
    return DG_OK;
}

/* Sort only after some of the steps, because sorting after every short step would cost more than the step. */
static bool is_time_to_look(int n)
{
    int step = 1;
    while (step * 64 < n) step *= 2;
    return n % step == 0;
}

bool dg_samples_enough(const dg_samples *s, double seconds, double most_seconds)
{
    dg_spread r;
    if (s->n < LEAST) return false;
    if (seconds >= most_seconds) return true;
    if (!is_time_to_look(s->n) || dg_samples_spread(s, &r)) return false;
    return fmax(r.median - r.low, r.high - r.median) <= WITHIN * r.median;
}
