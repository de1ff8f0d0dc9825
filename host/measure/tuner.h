/* `dcgan tune` finds the fastest implementation of each op of a training step on this device by measurements. A choice
 * is a kernel variant with its parameters. Every choice for an op is timed with a cold cache. The fastest choices are
 * timed again for their medians. The tuner then selects the fastest choice whose results agree with variant `direct`
 * (check.h). A new choice must be at least 2% faster than the current choice. */
#ifndef DG_TUNER_H
#define DG_TUNER_H

#include <signal.h>

#include "host/measure/trial.h"

typedef struct {
    dg_op op;             /* the first op of this kind and shape in the plan */
    dg_tune best, before; /* new choice; previous choice */
    double us, before_us, direct_us;
    int tried, wrong;      /* number of timed choices, and of fast choices with wrong results */
    char first_wrong[160]; /* a choice with wrong results, and its error; "": none */
} dg_tuned;

typedef struct {
    int repeats; /* runs per median */
    double seconds;
    const volatile sig_atomic_t *stop; /* may be NULL; a value other than 0 stops the search */
    /* Called between measurements. done: index of op among `all` ops; at: index of the choice among `choices`. */
    void (*progress)(void *context, const dg_op *op, int done, int all, int at, int choices);
    /* Called after each op. An error ends the search. */
    dg_err (*found)(void *context, const dg_tuned *t);
    void *context;
} dg_tuner_options;

typedef struct {
    int ops;
    int done;
    int tried, wrong;
} dg_tuner_result;

/* Tune the ops in descending order of time. Tuning overwrites the trial's weights. Returns DG_USAGE if the backend has
 * no choices. After a device error, earlier results stay valid. */
dg_err dg_tuner_run(dg_trial *t, const dg_tuner_options *o, dg_tuner_result *result);

#endif
