/* `dcgan tune` finds the fastest implementation of each op of a training step on this device by measurements. Every
 * choice that the backend offers for an op is timed with a cold cache. The best few choices are timed again for their
 * medians. The tuner then selects the fastest choice whose results agree with variant `direct` (check.h). The current
 * choice is replaced only by a choice that is at least 2% faster. */
#ifndef DG_TUNER_H
#define DG_TUNER_H

#include <signal.h>

#include "host/measure/trial.h"

typedef struct {
    dg_op op;             /* the first op of this kind and shape in the plan */
    dg_tune best, before; /* new choice; previous choice */
    double us, before_us, direct_us;
    int tried, wrong;      /* number of choices timed; number of fast choices with wrong results */
    char first_wrong[160]; /* a choice with wrong results, and its error; "": none */
} dg_tuned;

typedef struct {
    int repeats; /* runs per median */
    double seconds;
    const volatile sig_atomic_t *stop; /* may be NULL; a value other than 0 stops the search */
    /* Called between measurements, with op number `done` of `all` and choice number `at` of `choices`. */
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

/* Tune the ops in descending order of time. The trial's weights are invalid afterwards. DG_USAGE: the backend has no
 * choices. After a device error, earlier results stay valid. */
dg_err dg_tuner_run(dg_trial *t, const dg_tuner_options *o, dg_tuner_result *result);

#endif
