/* Which batch is fastest? What `dcgan batch` tries, when it ends, what it chooses and why: the decisions alone, on
 * times that somebody measures, so that a test can invent them.
 *
 *     dg_search_begin(&s, &limits);
 *     while ((batch = dg_search_next(&s, seconds since the beginning)))
 *         fits ? dg_search_timed(&s, &row) : dg_search_refused(&s, why);
 *     s.row[dg_search_choice(&s)]
 *
 * Sizes are `from`, then 2^k and 3 * 2^k. The search ends after three doublings, two sizes each, that gain less than 1%
 * over the best before them; where there is no time for another, earlier; and when its time is over,
 * which is longer where steps are long. Chosen is the smallest whose pictures a second are surely within a share of the
 * best: measured, within a quarter of it, for times are not exact to a percent. Then 3/4 and 5/4 of it are tried, for
 * kernels jump where their tiles end. One that leaves too few steps an epoch is timed, and never chosen.
 *
 * Whatever else runs on a machine, or on its host, makes all steps longer, often for seconds: one look may find it a
 * third slower than the next. But it is mostly the same from one look to the one behind it. So a look is compared with
 * the two before and after it, and the rate of a size is the median of what these comparisons say; one that was looked
 * at in the machine's best moment is not better for it. The factor that all rates have in common is that of the machine
 * as it mostly was. next() names a size again where that may change the answer: before it believes that a doubling
 * gained nothing both sizes and the best before them; and at the end each size that may be chosen or decides what is,
 * in turn, and those on both sides of the choice, until five comparisons agree on it, and two more for each one that
 * does not. */
#ifndef DG_BATCH_SEARCH_H
#define DG_BATCH_SEARCH_H

#include "host/options/sweep_range.h"
#include <stdbool.h>
#include <stddef.h>

/* One size. The search reads batch, ms and setup. */
typedef struct {
    int batch;
    double ms;                /* of a step: a tenth are faster (dg_spread). Of several looks what is said above */
    double median, low, high; /* and its 95% interval, of the look nearest to that, as if it had been as long */
    int looks;                /* so many after the first */
    int when;                 /* the search's look of this number was the last one */
    int compared, agree;      /* comparisons, and those that are within 1% of the median */
    double speed;             /* of the machine around that look, GFLOP/s of multiply-adds alone; 0: unknown */
    double setup;             /* seconds before the first step that counts */
    size_t memory;            /* bytes on the device */
    double busy, of_peak;     /* percent; below 0: unknown, as below */
    double utilisation;       /* what NVML calls so */
    double waits;             /* percent of a step that waits for pictures */
    int in_a_row;             /* steps of a sample */
    double *sample;           /* ms of a step, in their order, of all looks */
    int samples;
} dg_batch_row;

typedef struct {
    int from, most;  /* sizes */
    int pictures;    /* of an epoch */
    bool drop_last;  /* its short last batch is left out */
    double within;   /* 0.03: of the best */
    int least_steps; /* of an epoch */
    double seconds;  /* no size is begun that would take longer than that in all; the first one is */
    double look;     /* seconds of a look at most, of the first one at a size half of that */
    double patience; /* seconds in which the next size is begun all the same, if it leaves steps enough */
} dg_search_limits;

typedef enum {
    DG_SEARCH_RUNS,
    DG_SEARCH_FLAT,     /* a doubling gained nothing */
    DG_SEARCH_NO_ROOM,  /* the next size does not fit */
    DG_SEARCH_MOST,     /* it is more than `most` */
    DG_SEARCH_PICTURES, /* or more than there are pictures */
    DG_SEARCH_SECONDS
} dg_search_end;

enum { DG_SEARCH_ROWS = 64, DG_SEARCH_LOOKS = 16 /* at one size */, DG_SEARCH_ALL_LOOKS = 256 };
typedef struct {
    dg_search_limits limits;
    dg_batch_row row[DG_SEARCH_ROWS]; /* by batch */
    int rows;
    dg_batch_row look[DG_SEARCH_ALL_LOOKS]; /* in their order, without samples of their own */
    int looks;
    int tries;         /* the size that next() named, 0: none */
    int refused;       /* the smallest that does not fit, 0: none */
    char why_not[160]; /* in words */
    int climbed;       /* rows when the last doubling had ended */
    int beside;        /* the choice whose neighbours are looked at, */
    int neighbours;    /* so many up to now, */
    int moves;         /* and how often it was another one than before */
    dg_search_end end; /* why no larger size came, */
    double rising;     /* and, if time ended it, the share that the last doubling gained */
    double until;      /* seconds: nothing that takes longer is looked at again */
    double elapsed;    /* seconds, when next() was called last */
} dg_search;

void dg_search_begin(dg_search *s, const dg_search_limits *limits);
/* The size to time next, of which one look may be there already; 0: no more. elapsed: seconds since the beginning. */
int dg_search_next(dg_search *s, double elapsed);
bool dg_search_is_tried(const dg_search *s, int batch);
double dg_search_look(const dg_search *s, int batch);  /* seconds that the next look at this size takes at most */
void dg_search_timed(dg_search *s, dg_batch_row *row); /* which has become the search's, samples and all */
void dg_search_refused(dg_search *s, const char *why); /* "it needs 80.0 MB, and there are 70.0 MB" */
void dg_search_free(dg_search *s);

int dg_search_choice(const dg_search *s); /* place of the chosen row, -1: there is none */

/* "64: the fastest that leaves 32 steps an epoch; 96 would be 4% faster, with a third fewer updates." */
void dg_search_sentence(const dg_search *s, char *out, size_t size);

/* How much slower than at its best the machine was around the looks that count, at most: 0.2 for 20%. */
double dg_batch_slowed(const dg_batch_row *row, int rows);

/* Two looks at one size as one row, in `row`, of which the faster counts; the samples of `again` are the row's now. */
void dg_batch_merge(dg_batch_row *row, dg_batch_row *again);

int dg_batch_after(int batch);                                           /* the next size */
double dg_batch_rate(const dg_batch_row *r);                             /* pictures a second */
int dg_batch_updates(const dg_search_limits *l, int batch);              /* of an epoch */
double dg_batch_epoch(const dg_search_limits *l, const dg_batch_row *r); /* seconds */

#endif
