/* Times of batch sizes: a network is built as training builds it, with weights and images of its own, takes training
 * steps with learning rates of 0, so that its numbers stay what they are, and is freed again. */
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

/* What all sizes have in common. The caller sets what stands above the empty line. */
typedef struct {
    const dg_options *o; /* of a run; its batch does not matter */
    const dg_model *model;
    dg_backend *backend;
    const dg_dataset *data;
    const volatile sig_atomic_t *stop;          /* not 0: DG_FAILED after the step under way; may be NULL */
    void (*progress)(void *context, int batch); /* before each size; may be NULL */
    void *context;

    dg_room room;
    dg_machine machine; /* the peak: the best of a measurement before each size */
    dg_nvml *nvml;      /* NULL: there is none, and no_nvml says why */
    const char *no_nvml;
    uint8_t *records; /* where the recipe reads more than pixels */
    dg_busy load;     /* since the opening */
} dg_batch_bench;

dg_err dg_batch_bench_open(dg_batch_bench *b);
void dg_batch_bench_close(dg_batch_bench *b);

/* A network with one batch size. */
typedef struct {
    const dg_batch_bench *bench;
    dg_job job;
    dg_loader feed;
    dg_position at;
    bool begun; /* the epoch under way */
    int ahead;  /* steps that are given at once */
} dg_batch_trial;

/* Open and warm up. *yes: it fits; if not, why says so and nothing is to be closed. DG_NUMBERS: its
 * numbers are not finite. */
dg_err dg_batch_open(dg_batch_trial *t, dg_batch_bench *b, int batch, bool *yes, char why[160]);
void dg_batch_close(dg_batch_trial *t);

/* At least one and at most `most` full steps, finished on return: *done of them in *ms each. The short last step and
 * the beginning of an epoch are not counted. */
dg_err dg_batch_steps(dg_batch_trial *t, long most, long *done, double *ms);

/* One size: open, time until the median is known within 1% or most_seconds are over (all_of_them: always until then),
 * and close. */
dg_err dg_batch_time(dg_batch_bench *b, int batch, double most_seconds, bool all_of_them, dg_batch_row *row, bool *yes,
                     char why[160]);

/* The median of a step in some seconds. DG_DEVICE: the batch does not fit. */
dg_err dg_batch_glance(dg_batch_bench *b, int batch, double seconds, double *ms);

/* As the options say, without the number of images. */
dg_search_limits dg_batch_limits(const dg_options *o);

/* The search (batch_search.h) on this bench, and its sentence. DG_DEVICE when not even the first size fits. */
dg_err dg_batch_find(dg_batch_bench *b, const dg_search_limits *limits, dg_search *s, char *why, size_t size);

#endif
