/* Rules that choose a batch size from measured step times.
 *
 * Rule `search` measures the batch sizes `from`, then 2^k and 3 * 2^k. The series ends if none of its last six sizes
 * has at least 1% more images/s than the best earlier size. The search chooses the smallest size whose images/s are
 * within an allowed loss of the best size. Its measured loss must be at most a quarter of the allowed loss, because
 * measured times have errors of about 1%. Rule `search` also tries 3/4 and 5/4 of the chosen size, because kernel times
 * jump at tile boundaries. Other programs slow a machine for seconds, so two measurements (looks) of one size can
 * differ by a third. The machine's speed hardly changes between consecutive measurements, so the search compares each
 * measurement with the two before it and the two after it. The rate of a batch size is the median of its comparisons.
 * Batch sizes that can change the result are measured in several rounds.
 *
 * The rules `usage` and `epoch-time` are published rules (Serizawa and Tatebe 2019, an optimizer for Chainer).
 * Unpublished details are chosen so that the rules `usage` and `epoch-time` reproduce the published results. The rules
 * `usage` and `epoch-time` train in rounds of a fixed number of steps, with batch size b and stride d. Rule `usage`
 * computes u, the mean of the upper half of the positive GPU utilisation samples (one per second). Every 5 rounds, rule
 * `usage` stops if b changed by at most 5 since the last check. If u >= 99%, rule `usage` lowers b by min(d, 10),
 * otherwise it raises b by min(d, 10). The stride d becomes d + 1 if b moves in the direction of the last round,
 * otherwise d becomes 1. Rule `epoch-time` computes r = (t0 - t) / t0, where t is the time per epoch and t0 is t in
 * round 0. Every 5 rounds, rule `epoch-time` stops if r changed by at most 0.05 since the last check. In
 * each other round, it raises d by 1, then b by min(d, 10).
 *
 * Rule `energy` measures the sizes of rule `search`, and chooses the size with the least energy per image.
 *
 * Rule `sweep` measures every size of a range and chooses no size. */
#pragma once

#include <stdbool.h>

#include "core/base/err.h"

/* The values of --rule in the same order, then rule sweep. */
typedef enum { DG_RULE_SEARCH, DG_RULE_USAGE, DG_RULE_EPOCH_TIME, DG_RULE_ENERGY, DG_RULE_SWEEP } dg_batch_rule;

/* Times of a batch size: of one measurement (look), of all its measurements, or of one round. */
typedef struct {
    int batch, looks;
    double ms, median;    /* 10th percentile of step times (mean for rules with rounds) and their median, in ms */
    double setup;         /* seconds before the first step */
    double memory;        /* in bytes */
    double busy, of_peak; /* device utilisation and share of peak FLOP/s, in percent, or NaN */
    double joules;        /* energy per image, or NaN */
} dg_batch_row;

typedef struct {
    int from, most;
    int images;
    bool drop_last;  /* skip the short last batch of an epoch */
    double within;   /* allowed loss of images/s, such as 0.03 for 3% of the best images/s */
    int least_steps; /* min number of steps per epoch */
    double seconds;  /* time limit of rule search; the first measurement may take longer */
    double look;     /* seconds per measurement */
    int step;        /* step between sizes of a sweep; 0: the sizes of rule search */
} dg_batch_limits;

typedef struct {
    void *context;
    double (*elapsed)(void *context);
    /* Time a batch size for `seconds`, or for one round. `why` becomes "", or the reason why the batch does not fit
     * in memory. */
    dg_err (*look)(void *context, int batch, double seconds, dg_batch_row *row, char why[160]);
} dg_batch_machine;

enum { DG_BATCH_ROWS = 256 };
typedef struct {
    dg_batch_limits limits;
    dg_batch_machine machine;
    dg_batch_row row[DG_BATCH_ROWS]; /* ascending, one per batch size; rules usage and epoch-time: one per round */
    struct {
        int batch;
        double rate;       /* log(images/s) */
    } look[DG_BATCH_ROWS]; /* the measurements of the search, in order */
    int rows, looks;
    char why_not[160]; /* why the last size did not fit in memory, or "" */
    char ended[240];   /* why larger sizes were not tried, or how the rule usage or epoch-time ended */
    int batch;         /* the chosen size, or 0 if none */
    char why[600];
} dg_batch_table;

dg_err dg_batch_choose(dg_batch_table *t, dg_batch_rule rule, const dg_batch_limits *l, const dg_batch_machine *m);

/* Returns the batch size after `batch` in the series 2^k, 3 * 2^k of rule search. */
int dg_batch_after(int batch);
double dg_batch_rate(const dg_batch_row *r);                            /* images/s */
int dg_batch_updates(const dg_batch_limits *l, int batch);              /* steps per epoch */
double dg_batch_epoch(const dg_batch_limits *l, const dg_batch_row *r); /* seconds */
double dg_batch_gain(const dg_batch_table *t, int round);               /* relative gain of epoch time over round 0 */

/* Returns the mean of the upper half of the positive samples, including the middle sample of an odd number. */
double dg_batch_usage(double *sample, int n);
