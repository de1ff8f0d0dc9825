/* Inside the train command: one run, its loop, and what it leaves behind. */
#ifndef DG_TRAIN_H
#define DG_TRAIN_H

#include "host/files/checkpoint.h"
#include "host/cli/commands.h"
#include "host/data/feed.h"
#include "host/figure/pictures.h"
#include "host/run/progress.h"
#include "host/run/ring_reader.h"
#include "host/run/rundir.h"
#include "core/base/worker.h"

/* Steps are given to the device ahead of those whose metrics have been read. */
typedef struct {
    uint64_t step;  /* steps done, over all sessions */
    uint64_t epoch; /* epochs finished */
    uint64_t batch; /* steps done in the epoch under way */
} dg_position;

typedef struct {
    const dg_options *o;
    char *config; /* text of config.ini: o->resolved, with the precision that --precision auto has become */
    dg_backend *backend;
    dg_job job;
    dg_dataset data;
    dg_rundir dir;
    dg_log *log;
    struct {
        dg_worker *checkpoints; /* one thread each, so that a file's newest is the last that is written */
        dg_worker *curves;
        dg_worker *grids; /* several at a time: no two have one name */
    } write;
    bool curves_due; /* newer ones than were given to their writer */
    dg_progress *progress;
    dg_feed feed;
    dg_ring_reader metrics;

    int batches;                  /* steps in an epoch */
    dg_position given;            /* to the device */
    dg_position read;             /* their metrics are here, checked and logged */
    uint64_t first_step;          /* of this session */
    double epoch_began;           /* clock */
    uint64_t given_step;          /* of the last checkpoint that was given to its writer in this session */
    double saved_at, saving_took; /* clock and seconds: when it was taken, and how long training waited for that */
    /* what checkpoint.safetensors holds, {0}: none is there; its writer's until that is closed */
    dg_position saved;
    double started, seconds_before; /* clock at the session's start; seconds of earlier sessions */
    dg_metrics sum;                 /* over the epoch under way, for its means */
    int summed;
    struct {
        uint8_t *pixels; /* of a grid, where the device can write */
        uint64_t epoch;  /* of the grid that is on its way; 0: none is */
    } samples;
    dg_err save_error; /* first failure to write something; training goes on, the exit code tells */
} dg_training;

const char *dg_training_precision(const dg_training *r); /* the one of the device that it runs on */

/* Build the job, its data set whole or in two windows (job->o.window), so that it fits into b's memory, and into
 * `most` MB of it unless that is 0. DG_DEVICE says what is needed, what there is and the largest batch that fits. */
dg_err dg_build_to_fit(dg_job *job, const dg_model *m, const dg_job_options *o, dg_backend *b, double most);

/* Train until the epochs (or --steps) are done, a signal comes, or numbers fail. */
dg_err dg_train_loop(dg_training *r);

/* --checkpoint-every auto leaves this epoch's out: the disk has not finished the last one, or training would wait for
 * them more than a tenth of the time. Never the last epoch's. */
bool dg_checkpoint_too_soon(const dg_training *r, uint64_t epoch);

/* How many steps can be given next without anything for the host to do between them. */
int dg_steps_in_a_row(const dg_training *r);

/* config.ini in a run directory: before anything else, for without it there is nothing to resume. */
dg_err dg_save_config(const dg_rundir *dir, const char *text);

/* What the run leaves, written by threads. Failures are remembered, never fatal. */
void dg_save_reals(dg_training *r);
/* The grid of an epoch is only begun; the second gives it to a writer once it has come. One at a time. */
void dg_begin_samples(dg_training *r, uint64_t epoch);
void dg_save_samples(dg_training *r, bool wait);
/* The curves are left out while older ones are being drawn, unless these are the last. */
void dg_save_curves(dg_training *r, bool last);
void dg_save_checkpoint(dg_training *r);
dg_err dg_open_writers(dg_training *r);
/* When all is written; the first error of that. */
dg_err dg_close_writers(dg_training *r);

#endif
