/* Two published rules that choose a batch size (Serizawa and Tatebe 2019, an optimizer for Chainer), for comparison
 * with batch_search.h. Details are chosen so that the rules reproduce the published results. A round is a number of
 * steps with batch size b. n is the number of the round, from 0; d is the last stride. Rule `usage`: u is the mean of
 * the upper half of those GPU utilisation samples (one per second) that are above 0. Every 5 rounds, stop if b changed
 * by at most 5 since the last check. If u >= 99%, b falls by min(d, 10), otherwise it rises. The stride d becomes d + 1
 * if b moves in the direction of the last round, otherwise 1. Rule `epoch-time`: t = (time of a step) * ceil(images /
 * b), r = (t0 - t) / t0 with t0 of round 0. Every 5 rounds, stop if r changed by at most 0.05 since the last check.
 * Otherwise d grows by 1 and b grows by min(d, 10). Round 0 is not compared with t0. */
#ifndef DG_BATCH_RULE_H
#define DG_BATCH_RULE_H

#include <stdbool.h>

#include "core/base/err.h"

typedef enum { DG_RULE_USAGE, DG_RULE_EPOCH_TIME, DG_RULES } dg_batch_rule_kind;
extern const char *const dg_batch_rule_name[DG_RULES];

enum { DG_RULE_ROUNDS = 101 };

typedef struct {
    int batch;
    double ms;
    double usage; /* GPU utilisation u in percent, NaN: unknown */
    double epoch;
    double gain;
} dg_rule_round;

typedef enum { DG_RULE_RUNS, DG_RULE_STOPPED, DG_RULE_ALL_ROUNDS, DG_RULE_CANNOT } dg_rule_end;

typedef struct {
    dg_batch_rule_kind kind;
    int images;
    int batch;
    int stride;
    bool down;
    double checked; /* batch size b or gain r at the last check */
    dg_rule_end end;
    int rounds;
    dg_rule_round round[DG_RULE_ROUNDS];
} dg_batch_rule;

void dg_rule_begin(dg_batch_rule *r, dg_batch_rule_kind kind, int from, int images);

/* Record a round that ran with batch size r->batch. False: the rule has ended. */
bool dg_rule_next(dg_batch_rule *r, double ms, double usage);

/* The batch size of the last round; 0: no round has run. */
int dg_rule_answer(const dg_batch_rule *r);

typedef struct {
    void *context;
    double (*usage)(void *context);
    /* Replace the network by one with this batch size; *yes: the network fits into memory. */
    dg_err (*open)(void *context, int batch, bool *yes);
    /* Run between 1 and `most` steps; *done: number of steps that ran. */
    dg_err (*steps)(void *context, long most, long *done, double *seconds);
    void (*ended)(void *context, const dg_batch_rule *r); /* called after each round; may be NULL */
} dg_rule_machine;

/* Run all rounds of `steps` steps each. */
dg_err dg_rule_run(dg_batch_rule *r, const dg_rule_machine *m, long steps);

#endif
