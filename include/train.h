/* Inside the train command: one run, its loop, and what it leaves behind. */
#ifndef DG_TRAIN_H
#define DG_TRAIN_H

#include <signal.h>

#include "checkpoint.h"
#include "commands.h"
#include "pictures.h"
#include "progress.h"
#include "rundir.h"
#include "worker.h"

typedef struct {
    const dg_options *o;
    dg_backend *backend;
    dg_gan gan;
    dg_dataset data;
    dg_rundir dir;
    dg_log *log;
    dg_worker *worker;
    dg_progress *progress;
    void *device_data, *device_perm;
    int32_t *perm;

    int batches;             /* steps in an epoch */
    uint64_t step;           /* steps done */
    uint64_t epoch;          /* epochs finished */
    uint64_t batch;          /* steps done in the epoch under way */
    uint64_t first_step;     /* of this session */
    uint64_t saved_epoch;    /* which epoch's end checkpoint.safetensors holds; 0: none or within an epoch */
    double started, seconds_before; /* clock at the session's start; seconds of earlier sessions */
    dg_metrics sum;          /* over the epoch under way, for its means */
    int summed;
    dg_err save_error;       /* first failure to write something; training goes on, the exit code tells */
} dg_run;

/* The last signal that asked us to stop, 0: none. */
extern volatile sig_atomic_t dg_stop_signal;
void dg_catch_signals(void);

double dg_clock(void); /* seconds, monotonic */

/* Train until the epochs (or --steps) are done, a signal comes, or numbers fail. */
dg_err dg_train_loop(dg_run *r);

/* What the run leaves, written by the worker. Failures are remembered, never fatal. */
void dg_save_config(dg_run *r);
void dg_save_reals(dg_run *r);
void dg_save_samples(dg_run *r, uint64_t epoch);
void dg_save_curves(dg_run *r);
void dg_save_checkpoint(dg_run *r);

#endif
