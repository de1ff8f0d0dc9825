/* Times of batch sizes: a network is built as for training with its own weights and images, runs training steps with
 * learning rates of 0, so that its weights stay constant, and is freed. */
#ifndef DG_BATCH_TIME_H
#define DG_BATCH_TIME_H

#include <signal.h>

#include "core/tune/machine.h"
#include "host/data/dataset.h"
#include "host/data/loader.h"
#include "host/measure/batch_search.h"
#include "host/measure/nvml.h"
#include "host/options/options.h"
#include "host/trainer/fit.h"
#include "host/trainer/position.h"

/* Shared by all sizes. The caller sets the members above the empty line. */
typedef struct {
    const dg_options *o;
    const dg_model *model;
    dg_backend *backend;
    const dg_dataset *data;
    const volatile sig_atomic_t *stop; /* if not 0, stop with DG_FAILED after the current step; may be NULL */
    void (*progress)(void *context, int batch);
    void *context;

    dg_room room;
    dg_machine machine; /* the peak FLOP/s is measured once per size; this is the best */
    dg_nvml *nvml;      /* NULL: NVML is not available; no_nvml has the reason */
    const char *no_nvml;
    uint8_t *records; /* NULL: the recipe reads no labels */
    dg_busy load;
} dg_batch_bench;

dg_err dg_batch_bench_open(dg_batch_bench *b);
void dg_batch_bench_close(dg_batch_bench *b);

typedef struct {
    const dg_batch_bench *bench;
    dg_job job;
    dg_loader feed;
    dg_position at;
    bool begun;
    int ahead;
} dg_batch_trial;

/* Open a network and run it to warm up. *yes: the network fits. Otherwise `why` is the reason, and there is nothing to
 * close. DG_NUMBERS: values are not finite. */
dg_err dg_batch_open(dg_batch_trial *t, dg_batch_bench *b, int batch, bool *yes, char why[160]);
void dg_batch_close(dg_batch_trial *t);

/* Run between 1 and `most` full steps and wait for them. *done: number of steps; *ms: time of each. The short last step
 * and the start of an epoch are not counted. */
dg_err dg_batch_steps(dg_batch_trial *t, long most, long *done, double *ms);

/* Time one size until its median is known within 1% or most_seconds have passed. all_of_them: always use
 * most_seconds. */
dg_err dg_batch_time(dg_batch_bench *b, int batch, double most_seconds, bool all_of_them, dg_batch_row *row, bool *yes,
                     char why[160]);

/* Median time of a step within `seconds`. DG_DEVICE: the batch does not fit. */
dg_err dg_batch_glance(dg_batch_bench *b, int batch, double seconds, double *ms);

/* Set the limits of the search, except the number of images, from the options. */
dg_search_limits dg_batch_limits(const dg_options *o);

/* Run the search (batch_search.h) and write its sentence to why. DG_DEVICE: not even the first size fits. */
dg_err dg_batch_find(dg_batch_bench *b, const dg_search_limits *limits, dg_search *s, char *why, size_t size);

#endif
