/* The search for the fastest batch size. The caller measures the times. The sizes are `from`, then 2^k and 3 * 2^k. The
 * series ends after three doublings (of two sizes each) that gain less than 1% over the best size before them. The
 * search chooses the smallest size whose are at most an allowed share below the best. Measured rates may use only a
 * quarter of this share, because measured times have errors of about 1%. Then 3/4 and 5/4 of the choice are tried,
 * because kernel times jump at tile boundaries. A size that leaves too few steps per epoch is timed but never chosen.
 * Other programs slow a machine for seconds: two looks (measurements) at one size can differ by a third, but
 * consecutive looks differ little. So each look is compared with the two looks before it and the two after it. The rate
 * of a size is the median of these comparisons. Sizes on which the choice depends are measured again in turn. */
#ifndef DG_BATCH_SEARCH_H
#define DG_BATCH_SEARCH_H

#include "host/options/sweep_range.h"
#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"

/* A size, or one look (measurement) at it. The search reads batch, ms and setup. */
typedef struct {
    int batch, looks;
    double ms;                /* ms per step: 10th percentile of a look; several looks are combined */
    double median, low, high; /* with the 95% interval */
    double setup;
    double memory;
    double busy, of_peak, nvml; /* percent, NaN: unknown */
} dg_batch_row;

typedef struct {
    int from, most;
    int images;
    bool drop_last;  /* leave out the short last batch of an epoch */
    double within;   /* allowed loss, 0.03: 3% of the best rate */
    int least_steps; /* per epoch */
    double seconds;  /* limit of the search: no look except the first starts if it would end later */
    double look;     /* max seconds per look; half of it for the first look at a size */
} dg_search_limits;

typedef struct {
    void *context;
    double (*elapsed)(void *context);
    /* Time a batch size for `seconds`. *yes: it fits; otherwise why is the reason. */
    dg_err (*look)(void *context, int batch, double seconds, dg_batch_row *row, bool *yes, char why[160]);
} dg_search_machine;

enum { DG_SEARCH_ROWS = 64, DG_SEARCH_LOOKS = 256 };
typedef struct {
    dg_search_limits limits;
    dg_search_machine machine;
    dg_batch_row row[DG_SEARCH_ROWS];
    int rows;
    dg_batch_row look[DG_SEARCH_LOOKS];
    int looks;
    int refused;
    char why_not[160];
    char end[240]; /* why no larger sizes were tried: "; more than 64 were not tried (--max-batch)" */
    double rising; /* if time ended the ladder: relative gain of the last doubling */
} dg_search;

dg_err dg_search_run(dg_search *s, const dg_search_limits *limits, const dg_search_machine *machine);

int dg_search_choice(const dg_search *s); /* index in row, -1: none */

/* "64: the fastest that leaves 32 steps per epoch; 96 would be 4% faster, with 33% fewer updates; ..." */
void dg_search_sentence(const dg_search *s, char *out, size_t size);

int dg_batch_after(int batch);
double dg_batch_rate(const dg_batch_row *r); /* images/s */
int dg_batch_updates(const dg_search_limits *l, int batch);

#endif
