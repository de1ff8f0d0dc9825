/* Batches against the clock: a network is built with one, as training would build it, beside nothing else and with
 * weights and pictures of its own, takes steps as training gives them, and is taken down. Its learning rates are 0, so
 * that its numbers stay what they are however many steps there are. */
#ifndef DG_BATCH_TIME_H
#define DG_BATCH_TIME_H

#include <signal.h>

#include "core/tune/machine.h"
#include "host/data/dataset.h"
#include "host/data/loader.h"
#include "host/measure/batch_search.h"
#include "host/measure/nvml.h"
#include "host/measure/samples.h"
#include "host/options/options.h"
#include "host/trainer/fit.h"
#include "host/trainer/position.h"

/* What all of them have in common. */
typedef struct {
    const dg_options *o; /* how a run would train; its batch does not matter */
    const dg_model *model;
    dg_backend *backend;
    const dg_dataset *data;
    const volatile sig_atomic_t *stop;          /* ends what is under way with DG_FAILED once it is not 0 */
    void (*progress)(void *context, int batch); /* before each size; NULL: nobody wants to know */
    void *context;

    dg_room room;
    dg_machine machine; /* the peak, looked at before each size */
    dg_nvml *nvml;      /* NULL: there is none */
    const char *no_nvml;
    uint8_t *records; /* where the recipe has more to read than pixels */
    dg_busy load;     /* since the opening */
} dg_batch_bench;

dg_err dg_batch_bench_open(dg_batch_bench *b); /* what stands above the empty line is set */
void dg_batch_bench_close(dg_batch_bench *b);

/* A network with one batch. */
typedef struct {
    const dg_batch_bench *bench;
    dg_job job;
    dg_loader feed;
    dg_position at;
    bool begun; /* the epoch under way */
    int ahead;  /* steps that are given at once */
} dg_batch_trial;

/* *yes: it fits; where it does not, why (of `size` bytes) says so in words and nothing is to be closed. */
dg_err dg_batch_open(dg_batch_trial *t, dg_batch_bench *b, int batch, bool *yes, char *why, size_t size);
void dg_batch_close(dg_batch_trial *t);

/* Some full steps, one at least and `most` at most, that are done when it returns: *done of them in so many ms each.
 * What lies between full steps, the short one and the beginning of an epoch, is not counted. */
dg_err dg_batch_steps(dg_batch_trial *t, long most, long *done, double *ms);

/* The first steps, which do not count. DG_NUMBERS: they do not compute. */
dg_err dg_batch_warm_up(dg_batch_trial *t);

/* One size: open, warm up, time until the median is known well or most_seconds are over, and close; all_of_them: for
 * all of these seconds, however well it is known. */
dg_err dg_batch_time(dg_batch_bench *b, int batch, double most_seconds, bool all_of_them, dg_batch_row *row, bool *yes,
                     char *why, size_t size);

/* A first idea of one size: ms a step by the median of some seconds, behind a warm-up. DG_DEVICE: it does not fit. */
dg_err dg_batch_glance(dg_batch_bench *b, int batch, double seconds, double *ms);

/* As the options say, without the number of pictures. */
dg_search_limits dg_batch_limits(const dg_options *o);

/* The search (batch_search.h) on this bench, which is to be freed. DG_DEVICE when not even the first size fits. */
dg_err dg_batch_find(dg_batch_bench *b, const dg_search_limits *limits, dg_search *s);

#endif
