/* What a run leaves behind: grids of samples, curves, checkpoints. All of it is copied when it is due, and written by
 * threads. Failures are remembered, never fatal. */
#ifndef DG_OUTPUTS_H
#define DG_OUTPUTS_H

#include "core/base/worker.h"
#include "host/options/options.h"
#include "host/data/dataset.h"
#include "host/doctor/doctor.h"
#include "host/checkpoint/checkpoint.h"
#include "host/train/keep.h"
#include "host/run/log.h"
#include "host/trainer/position.h"

/* Files that are written again and again: what one attempt did not save a later one may. */
enum { DG_CHECKPOINT_FILE, DG_BEST_FILE, DG_CURVES_FILE, DG_LOG_FILE, DG_REWRITTEN };

typedef struct {
    /* the run's: what the outputs are made of */
    const dg_options *o;
    const char *config; /* text of config.ini */
    const dg_rundir *dir;
    const dg_dataset *data;
    dg_job *job;
    dg_log *log;

    struct {
        dg_worker *checkpoints; /* one thread each, so that a file's newest is the last that is written */
        dg_worker *curves;      /* and report.html */
        dg_worker *grids;       /* several at a time: no two have one name */
    } write;
    bool curves_due; /* newer ones than were given to their writer */
    struct {
        uint8_t *pixels; /* of a grid, where the device can write */
        uint64_t epoch;  /* of the grid that is on its way; 0: none is */
        uint64_t given;  /* of the last one that was given to its writer */
    } samples;
    dg_report_keeper *report;
    uint64_t report_due;          /* an epoch that report.html is still to show; 0: there is none */
    dg_grid_seen seen;            /* the newest grid that was given to its writer */
    uint64_t given_step;          /* of the last checkpoint that was given to its writer in this session */
    double saved_at, saving_took; /* clock and seconds: when it was taken, and how long training waited for that */
    /* what checkpoint.safetensors holds, {0}: none is there; its writer's until that is closed */
    dg_position saved;
    struct {
        dg_err error;
        char message[400];
    } unsaved[DG_REWRITTEN]; /* the last attempt's failure, by file; made good by a later one */
    dg_err error;            /* first failure to write something; training goes on, the exit code tells */
} dg_outputs;

dg_err dg_outputs_open(dg_outputs *w);
/* When all is written; the first error of that. */
dg_err dg_outputs_close(dg_outputs *w);

/* Remember with what result a file was written that is written again and again; a failure is a warning. Any thread. */
void dg_outputs_wrote(dg_outputs *w, int file, dg_err e);

/* Remember that something could not be written; dg_message() says what. */
void dg_outputs_failed(dg_outputs *w, dg_err e);

/* config.ini in a run directory: before anything else, for without it there is nothing to resume. */
dg_err dg_save_config(const dg_rundir *dir, const char *text);

void dg_save_reals(dg_outputs *w);

/* Are images of this epoch wanted? And is a grid due at its end: never where the recipe draws nothing. */
bool dg_shown(const dg_outputs *w, uint64_t epoch);
bool dg_samples_due(const dg_outputs *w, uint64_t epoch);
bool dg_judge_due(const dg_outputs *w, uint64_t epoch); /* --eval-every */
/* The grid of an epoch is only begun; the second gives it to a writer once it has come, and once its epoch's numbers
 * have been read. One at a time. */
void dg_begin_samples(dg_outputs *w, uint64_t epoch);
void dg_save_samples(dg_outputs *w, const dg_position *read, bool wait);

/* The curves are left out while older ones are being drawn, unless these are the last. */
bool dg_curves_due(const dg_outputs *w, uint64_t epoch);
void dg_save_curves(dg_outputs *w, bool last);

/* Once the grid of its epoch has been given to its writer. It is of what is in the directory by then. */
void dg_save_report(dg_outputs *w);

bool dg_checkpoint_due(const dg_outputs *w, uint64_t epoch);
/* --checkpoint-every auto leaves this epoch's out: the disk has not finished the last one, or training would wait for
 * them more than a tenth of the time. Never the last epoch's. */
bool dg_checkpoint_too_soon(const dg_outputs *w, uint64_t epoch);
void dg_save_checkpoint(dg_outputs *w, const dg_position *read);
/* The same as the best one (best.h), which is no state that the run goes on from by itself. */
void dg_save_best(dg_outputs *w, const dg_position *read);

#endif
