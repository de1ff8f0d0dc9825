/* Two published rules that choose a batch size (Serizawa and Tatebe 2019, an optimizer for Chainer), in the form that
 * gives their printed end points; to compare with the search of batch_search.h.
 *
 * A round is a number of steps with batch b. n counts rounds from 0, d is the last stride.
 *   usage:      u is the mean of the upper half of the samples above 0, one per second. If n is a multiple of 5: stop
 * if b differs from b at the last such check by at most 5. Then, if u >= 99%, d becomes d + 1 if b fell before, else 1,
 * and b falls by min(d, 10); else the same upwards.
 *   epoch time: r = (t0 - t) / t0, t the time of a step times ceil(images / b), t0 that of round 0. If n is a multiple
 * of 5: stop if r differs from r at the last such check by at most 0.05. Then d grows by 1 and b by min(d, 10). Round 0
 * has no check before it. */
#ifndef DG_BATCH_RULE_H
#define DG_BATCH_RULE_H

#include <stdbool.h>

#include "core/base/err.h"

typedef enum { DG_RULE_USAGE, DG_RULE_EPOCH_TIME, DG_RULES } dg_batch_rule_kind;
extern const char *const dg_batch_rule_name[DG_RULES]; /* "usage", "epoch-time" */

enum { DG_RULE_ROUNDS = 101 };

typedef struct {
    int batch;
    double ms;    /* of a step */
    double usage; /* u of above in percent, NaN: unknown */
    double epoch; /* t of above in seconds */
    double gain;  /* r of above */
} dg_rule_round;

typedef enum { DG_RULE_RUNS, DG_RULE_STOPPED, DG_RULE_ALL_ROUNDS, DG_RULE_CANNOT } dg_rule_end;

typedef struct {
    dg_batch_rule_kind kind;
    int images;
    int batch; /* of the next round */
    int stride;
    bool down;
    double checked; /* batch, or gain, at the last check */
    dg_rule_end end;
    int rounds;
    dg_rule_round round[DG_RULE_ROUNDS]; /* those that are over */
} dg_batch_rule;

void dg_rule_begin(dg_batch_rule *r, dg_batch_rule_kind kind, int from, int images);

/* A round with r->batch is over. False: so is the rule. */
bool dg_rule_next(dg_batch_rule *r, double ms, double usage);

/* The batch of the last round, 0: there was none. */
int dg_rule_answer(const dg_batch_rule *r);

/* What the rounds run on. */
typedef struct {
    void *context;
    double (*usage)(void *context); /* percent since the last call */
    /* Replace the network by one with this batch; *yes: it fits. */
    dg_err (*open)(void *context, int batch, bool *yes);
    /* At least one step and at most `most`, *done of them in *seconds. */
    dg_err (*steps)(void *context, long most, long *done, double *seconds);
    void (*ended)(void *context, const dg_batch_rule *r); /* after each round; may be NULL */
} dg_rule_machine;

/* All rounds, each of so many steps. */
dg_err dg_rule_run(dg_batch_rule *r, const dg_rule_machine *m, long steps);

#endif
