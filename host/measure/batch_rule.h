/* Two published rules that choose a batch (Serizawa and Tatebe 2019, an optimiser for Chainer), as they have to be for
 * its printed end points to come out; to compare with our own search (batch_search.h).
 *
 * A round is so many steps with batch b. n counts rounds from 0, d is the last stride, way its direction:
 *   usage:      u is the mean of the upper half of the samples above 0, one a second. If n is a multiple of 5: stop if
 * b differs from b at the last such check by at most 5. Then, if u >= 99%, d becomes d + 1 if the way was down already,
 * else 1, and b falls by min(d, 10); else the same upwards. epoch time: r = (t0 - t) / t0, t the time of a step times
 * ceil(pictures / b), t0 that of round 0. If n is a multiple of 5: stop if r differs from r at the last such check by
 * at most 0.05. Then d grows by 1 and b by min(d, 10). Round 0 has no check before it. */
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
    double usage; /* percent, u of above; below 0: nobody knows */
    double epoch; /* seconds: t of above */
    double gain;  /* r of above */
} dg_rule_round;

typedef enum { DG_RULE_RUNS, DG_RULE_STOPPED, DG_RULE_ALL_ROUNDS, DG_RULE_CANNOT } dg_rule_end;

typedef struct {
    dg_batch_rule_kind kind;
    int pictures;
    int batch; /* of the next round; once it has ended the answer, unless it wants what cannot be */
    int stride;
    bool down;
    double checked; /* batch, or gain, at the last check */
    dg_rule_end end;
    int rounds;
    dg_rule_round round[DG_RULE_ROUNDS]; /* those that are over */
} dg_batch_rule;

void dg_rule_begin(dg_batch_rule *r, dg_batch_rule_kind kind, int from, int pictures);

/* A round with r->batch is over. False: so is the rule. */
bool dg_rule_next(dg_batch_rule *r, double ms, double usage);

/* The batch of the last round that there was, 0: there was none. */
int dg_rule_answer(const dg_batch_rule *r);

/* Mean of the upper half of those above 0, of an odd number with the middle one; 0: there are none. Sorts them. */
double dg_upper_half(double *sample, int n);

/* What the rounds run on, so that a test can put any machine in its place. */
typedef struct {
    void *context;
    double (*clock)(void *context); /* seconds */
    double (*usage)(void *context); /* percent since it was last asked */
    /* A network of its own with this batch, in the place of the one before; *yes: it can be. */
    dg_err (*open)(void *context, int batch, bool *yes);
    /* At least one step, at most so many; they are done when it returns. */
    dg_err (*steps)(void *context, long most, long *done);
    void (*ended)(void *context, const dg_batch_rule *r); /* one more round is over */
} dg_rule_machine;

/* All rounds, each of so many steps. */
dg_err dg_rule_run(dg_batch_rule *r, const dg_rule_machine *m, long steps);

#endif
