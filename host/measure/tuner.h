/* `dcgan tune`: the fastest way to run each op of a training step on this device, found by trying.
 *
 * Every choice that the backend knows for an op is timed, the cache overwritten before each run; the best few are timed
 * again for their medians, and the fastest of those whose results agree with variant `direct` (check.h) is taken. What
 * the op runs already stays unless the new choice is at least a fiftieth faster. */
#ifndef DG_TUNER_H
#define DG_TUNER_H

#include <signal.h>

#include "host/measure/trial.h"

typedef struct {
    dg_op op;                        /* kind and shape, the first of these in the plan */
    dg_tune best, before;            /* the choice, and what the op ran until now */
    double us, before_us, direct_us; /* medians */
    int tried, wrong;                /* choices timed; those that were fast and whose results were not right */
    char first_wrong[160];           /* one of them, and why: "" */
} dg_tuned;

typedef struct {
    int repeats;                       /* runs of a median */
    double seconds;                    /* stop after about so many, 0: when all is tried */
    const volatile sig_atomic_t *stop; /* stop soon once this is not 0, NULL: never */
    /* Called between measurements: op `done` of `all` is under way, at choice `at` of `choices`. */
    void (*progress)(void *context, const dg_op *op, int done, int all, int at, int choices);
    /* An op is done. An error ends the search. */
    dg_err (*found)(void *context, const dg_tuned *t);
    void *context;
} dg_tuner_options;

typedef struct {
    int ops;  /* different ops and shapes of the step */
    int done; /* for so many found() was called */
    int tried, wrong;
} dg_tuner_result;

/* Ops are taken in the order of the time that they cost. The trial's weights are numbers of no meaning afterwards.
 * DG_USAGE when the backend has no choices; after errors of the device what was found so far stays found. */
dg_err dg_tuner_run(dg_trial *t, const dg_tuner_options *o, dg_tuner_result *result);

#endif
