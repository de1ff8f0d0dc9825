/* Rules that choose a batch size from a table of measured sizes. The sizes are measured on a device, or read from a
 * measured curve (batch_time.h).
 *
 * search: the sizes are `from`, then 2^k and 3 * 2^k. The series ends when its last six sizes (three doublings) gain
 * less than 1% over the best size before them. The search chooses the smallest size whose rate is at most an allowed
 * share below the best. Measured rates may use only a quarter of this share, because measured times have errors of
 * about 1%. Then 3/4 and 5/4 of the chosen size are tried, because kernel times jump at tile boundaries. A size that
 * leaves too few steps per epoch is timed but never chosen. Other programs slow a machine for seconds: two measurements
 * (looks) of one size can differ by a third, but consecutive measurements differ little. So each measurement is
 * compared with the two before it and the two after it. The rate of a size is the median of these comparisons. Sizes on
 * which the choice depends are measured again in turn.
 *
 * usage, epoch-time: published rules (Serizawa and Tatebe 2019, an optimizer for Chainer). Details are chosen so that
 * the rules reproduce the published results. A round is a number of steps with batch size b. n is the number of the
 * round, from 0; d is the stride. Rule `usage`: u is the mean of the upper half of those GPU utilisation samples (one
 * per second) that are above 0. Every 5 rounds, stop if b changed by at most 5 since the last check. If u >= 99%, b
 * falls by min(d, 10), otherwise it rises. The stride d becomes d + 1 if b moves in the direction of the last round,
 * otherwise 1. Rule `epoch-time`: t = (time of a step) * ceil(images / b), r = (t0 - t) / t0 with t0 of round 0. Every
 * 5 rounds, stop if r changed by at most 0.05 since the last check. Otherwise d grows by 1 and b grows by min(d, 10).
 * Round 0 is not compared with t0. */
#ifndef DG_BATCH_RULE_H
#define DG_BATCH_RULE_H

#include <stdbool.h>

#include "core/base/err.h"

/* The rules, in the order of the values of --rule after "none". */
typedef enum { DG_RULE_SEARCH, DG_RULE_USAGE, DG_RULE_EPOCH_TIME, DG_RULES } dg_batch_rule;
extern const char *const dg_batch_rule_name[DG_RULES];

/* A single measurement (look) of a batch size, or all its measurements. The rules read batch, ms, setup and busy. */
typedef struct {
    int batch, looks;
    double ms;                /* ms per step: 10th percentile of a measurement, or mean of a round */
    double median, low, high; /* with the 95% interval */
    double setup;             /* seconds before the first step */
    double memory;
    double busy, of_peak, nvml; /* percent, NaN: unknown; busy is u if the row is a round */
} dg_batch_row;

typedef struct {
    int from, most;
    int images;
    bool drop_last;  /* leave out the short last batch of an epoch */
    double within;   /* allowed loss, 0.03: 3% of the best rate */
    int least_steps; /* per epoch */
    double seconds;  /* time limit of the search; only the first measurement may exceed it */
    double look;     /* max seconds per measurement, halved for the first measurement of a size */
} dg_batch_limits;

typedef struct {
    void *context;
    double (*elapsed)(void *context);
    /* Time a batch size for `seconds`, or for one round. why: "", or the reason why the size does not fit. */
    dg_err (*look)(void *context, int batch, double seconds, dg_batch_row *row, char why[160]);
} dg_batch_machine;

enum { DG_BATCH_ROWS = 64, DG_BATCH_LOOKS = 256 };
typedef struct {
    dg_batch_limits limits;
    dg_batch_machine machine;
    dg_batch_row look[DG_BATCH_LOOKS]; /* all measurements in order; rules usage and epoch-time make one per round */
    dg_batch_row row[DG_BATCH_ROWS];   /* search: one row per batch size, ascending, computed from all measurements */
    int looks, rows;
    int refused;       /* a size that did not fit, 0: none */
    char why_not[160]; /* why the last size did not fit, or "" */
    const char *ended; /* rules usage and epoch-time: how the rule ended */
    char end[240];     /* why the search tried no larger sizes: "; sizes above 64 were not tried (--max-batch)" */
    double rising;     /* search: relative gain of the last doubling if the time limit ended the series, else 0 */
    int batch;         /* the chosen size, 0: none */
    char why[700];     /* the choice and its reasons, as a sentence */
} dg_batch_table;

dg_err dg_batch_choose(dg_batch_table *t, dg_batch_rule rule, const dg_batch_limits *l, const dg_batch_machine *m);

/* Returns the size after `batch` in the series of the search: 2^k and 3 * 2^k. */
int dg_batch_after(int batch);
double dg_batch_rate(const dg_batch_row *r); /* images/s */
int dg_batch_updates(const dg_batch_limits *l, int batch);

/* dg_round_epoch returns t, the seconds per epoch in a round; dg_round_gain returns r, the gain over round 0. */
double dg_round_epoch(const dg_batch_limits *l, const dg_batch_row *round);
double dg_round_gain(const dg_batch_limits *l, const dg_batch_row *round, const dg_batch_row *first);

/* dg_batch_round runs `steps` steps and sets ms and busy of *row. */
typedef struct {
    void *context;
    double (*usage)(void *context); /* utilisation in percent since the last call */
    /* Run between 1 and `most` steps; *done: number of steps that ran. */
    dg_err (*steps)(void *context, long most, long *done, double *seconds);
} dg_round_machine;
dg_err dg_batch_round(const dg_round_machine *m, long steps, dg_batch_row *row);

#endif
