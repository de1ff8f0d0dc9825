/* Rules that choose a batch size from measured sizes.
 *
 * search: the sizes are `from`, then 2^k and 3 * 2^k. The series ends when its last six sizes (three doublings) gain
 * less than 1% over the best size before them. The search chooses the smallest size whose rate is at most an allowed
 * share below the best. Measured rates may use only a quarter of this share, because measured times have errors of
 * about 1%. Then 3/4 and 5/4 of the chosen size are tried, because kernel times jump at tile boundaries. Other programs
 * slow a machine for seconds: two measurements (looks) of one size can differ by a third, but consecutive measurements
 * differ little. So each measurement is compared with the two before it and the two after it. The rate of a size is the
 * median of these comparisons. Sizes on which the choice depends are measured again in turn.
 *
 * usage, epoch-time: published rules (Serizawa and Tatebe 2019, an optimizer for Chainer). Details are chosen so that
 * the rules reproduce the published results. A round is a number of steps with batch size b. n is the number of the
 * round, from 0; d is the stride. Rule `usage`: u is the mean of the upper half of those GPU utilisation samples (one
 * per second) that are above 0. Every 5 rounds, stop if b changed by at most 5 since the last check. If u >= 99%, b
 * falls by min(d, 10), otherwise it rises. The stride d becomes d + 1 if b moves in the direction of the last round,
 * otherwise 1. Rule `epoch-time`: t = (time of a step) * ceil(images / b), r = (t0 - t) / t0 with t0 of round 0. Every
 * 5 rounds, stop if r changed by at most 0.05 since the last check. Otherwise d grows by 1 and b grows by min(d, 10).
 * Round 0 is not compared with t0.
 *
 * sweep: every size of a range, without a choice. */
#ifndef DG_BATCH_RULE_H
#define DG_BATCH_RULE_H

#include <stdbool.h>

#include "core/base/err.h"

/* The first three are in the order of the values of --rule. */
typedef enum { DG_RULE_SEARCH, DG_RULE_USAGE, DG_RULE_EPOCH_TIME, DG_RULE_SWEEP } dg_batch_rule;

/* A measurement (look) of a batch size, all its measurements, or a round. */
typedef struct {
    int batch, looks;
    double ms, median;    /* ms per step: 10th percentile, or mean of a round; median */
    double setup;         /* seconds before the first step */
    double memory;        /* in bytes */
    double busy, of_peak; /* utilisation of the device, and FLOP/s relative to its peak; percent, NaN: unknown */
} dg_batch_row;

typedef struct {
    int from, most;
    int images;
    bool drop_last;  /* leave out the short last batch of an epoch */
    double within;   /* allowed loss, 0.03: 3% of the best rate */
    int least_steps; /* per epoch */
    double seconds;  /* time limit of the search; only the first measurement may exceed it */
    double look;     /* seconds per measurement */
    int step;        /* of a sweep; 0: the sizes of the search */
} dg_batch_limits;

typedef struct {
    void *context;
    double (*elapsed)(void *context);
    /* Time a batch size for `seconds`, or for one round. why: "", or the reason why the size does not fit. */
    dg_err (*look)(void *context, int batch, double seconds, dg_batch_row *row, char why[160]);
} dg_batch_machine;

enum { DG_BATCH_ROWS = 256 };
typedef struct {
    dg_batch_limits limits;
    dg_batch_machine machine;
    dg_batch_row row[DG_BATCH_ROWS]; /* one per batch size, ascending; rules usage and epoch-time: one per round */
    struct {
        int batch;
        double rate;       /* logarithm */
    } look[DG_BATCH_ROWS]; /* the measurements of the search, in order */
    int rows, looks;
    char why_not[160]; /* why the last size did not fit, or "" */
    char ended[240];   /* why there are no larger sizes; rules usage and epoch-time: how the rule ended */
    int batch;         /* the chosen size, 0: none */
    char why[480];     /* the choice and its reasons, as a sentence */
} dg_batch_table;

dg_err dg_batch_choose(dg_batch_table *t, dg_batch_rule rule, const dg_batch_limits *l, const dg_batch_machine *m);

/* Returns the size after `batch` in the series of the search: 2^k and 3 * 2^k. */
int dg_batch_after(int batch);
double dg_batch_rate(const dg_batch_row *r);                            /* images/s */
int dg_batch_updates(const dg_batch_limits *l, int batch);              /* steps per epoch */
double dg_batch_epoch(const dg_batch_limits *l, const dg_batch_row *r); /* seconds */
double dg_batch_gain(const dg_batch_table *t, int round);               /* of the epoch time over round 0: r */

/* u: mean of the upper half of the samples that are above 0. Half of an odd number includes the middle sample. */
double dg_batch_usage(double *sample, int n);

#endif
