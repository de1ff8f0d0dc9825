/* `dcgan tune` measures the implementations of each op of a training step and selects the fastest. A choice is a kernel
 * variant with its parameters. Every choice is timed with a cold cache. The results of the selected choice agree with
 * variant `direct` (check.h). A new choice must be at least 2% faster than the current choice. */
#pragma once

#include <signal.h>

#include "host/measure/trial.h"

typedef struct {
    dg_op op; /* the first op of this kind and shape in the plan */
    dg_tune best, before;
    double us, before_us, direct_us;
    int tried, wrong;      /* number of timed choices; number of failed choices */
    char first_wrong[160]; /* the first failed choice, and its error; "": none */
} dg_tuned;

typedef struct {
    int repeats; /* runs per median */
    double seconds;
    const volatile sig_atomic_t *stop; /* nonzero: stop the search; may be NULL */
    /* Called between measurements. done: index of the op; at: index of the choice. */
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

/* Tuning overwrites the trial's weights. Returns DG_USAGE if the backend has no choices. After a device error, earlier
 * results stay valid. */
dg_err dg_tuner_run(dg_trial *t, const dg_tuner_options *o, dg_tuner_result *result);
