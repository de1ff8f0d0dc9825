/* The search for the fastest batch size, on times that the caller measures.
 *
 * Sizes are `from`, then 2^k and 3 * 2^k, until three doublings, two sizes each, gain less than 1% over the best before
 * them. The choice is the smallest size whose images per second are within a share of the best: measured, within a
 * quarter of that share, because times are not exact to a percent. Then 3/4 and 5/4 of the choice are tried, because
 * kernels jump where their tiles end. A size that leaves too few steps per epoch is timed and never chosen.
 *
 * Other programs slow a machine for seconds, so two looks at one size differ by a third, but consecutive looks mostly
 * see the same machine. So a look is compared with the two before and the two after it, and the rate of a size is the
 * median of these comparisons. Sizes that decide the answer are looked at again in turn. */
#ifndef DG_BATCH_SEARCH_H
#define DG_BATCH_SEARCH_H

#include "host/options/sweep_range.h"
#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"

/* One size, or one look at it. The search reads batch, ms and setup. */
typedef struct {
    int batch, looks;
    double ms;                  /* of a step: a tenth of the steps are faster; of several looks as said above */
    double median, low, high;   /* and its 95% interval */
    double setup;               /* seconds before the first step that counts */
    double memory;              /* bytes on the device */
    double busy, of_peak, nvml; /* percent, NaN: unknown */
} dg_batch_row;

typedef struct {
    int from, most;  /* sizes */
    int images;      /* per epoch */
    bool drop_last;  /* the short last batch of an epoch is left out */
    double within;   /* 0.03: of the best */
    int least_steps; /* per epoch */
    double seconds;  /* no look is begun that would end later; the first one is */
    double look;     /* seconds of a look at most, of the first one at a size half of that */
} dg_search_limits;

typedef struct {
    void *context;
    double (*elapsed)(void *context); /* seconds since the beginning */
    /* Time a batch for so many seconds. *yes: it fits; if not, why says so. */
    dg_err (*look)(void *context, int batch, double seconds, dg_batch_row *row, bool *yes, char why[160]);
} dg_search_machine;

enum { DG_SEARCH_ROWS = 64, DG_SEARCH_LOOKS = 256 };
typedef struct {
    dg_search_limits limits;
    dg_search_machine machine;
    dg_batch_row row[DG_SEARCH_ROWS]; /* by batch */
    int rows;
    dg_batch_row look[DG_SEARCH_LOOKS]; /* in order of time */
    int looks;
    int refused;       /* the smallest that does not fit, 0: none */
    char why_not[160]; /* in words */
    char end[240];     /* why no larger sizes came: "; more than 64 were not tried (--most)" */
    double rising;     /* if time ended the ladder, the share that its last doubling gained */
} dg_search;

dg_err dg_search_run(dg_search *s, const dg_search_limits *limits, const dg_search_machine *machine);

int dg_search_choice(const dg_search *s); /* index of the chosen row, -1: there is none */

/* "64: the fastest that leaves 32 steps per epoch; 96 would be 4% faster, with 33% fewer updates; the search took
 * 9 s." */
void dg_search_sentence(const dg_search *s, char *out, size_t size);

int dg_batch_after(int batch);                              /* the next size */
double dg_batch_rate(const dg_batch_row *r);                /* images per second */
int dg_batch_updates(const dg_search_limits *l, int batch); /* steps per epoch */

#endif
