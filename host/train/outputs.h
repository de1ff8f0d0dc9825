/* Output files of a run: image grids, report.html, checkpoints. Worker threads write copies of the data. Errors do not
 * end training. */
#pragma once

#include "core/base/worker.h"
#include "host/options/options.h"
#include "host/data/dataset.h"
#include "host/doctor/doctor.h"
#include "host/checkpoint/checkpoint.h"
#include "host/train/keep.h"
#include "host/run/log.h"
#include "host/trainer/position.h"

enum { DG_CHECKPOINT_FILE, DG_BEST_FILE, DG_LOG_FILE, DG_REWRITTEN };

typedef struct {
    const dg_options *o;
    const char *config;
    const dg_rundir *dir;
    const dg_dataset *data;
    dg_job *job;
    dg_log *log;

    struct {
        dg_worker *checkpoints; /* one thread, so that checkpoints are written in order */
        dg_worker *report;      /* one thread */
        dg_worker *grids;       /* several threads, because grids are independent files */
    } write;
    struct {
        uint8_t *pixels; /* host memory of the backend */
        uint64_t epoch;  /* epoch of the grid that is copied now; 0: none */
        uint64_t given;
    } samples;
    double real_diversity; /* of as many real images as a grid has cells, or 0 before the first grid */
    dg_report_keeper *report;
    uint64_t report_due; /* epoch that report.html must show; 0: none */
    dg_grid_seen seen;
    uint64_t given_step;          /* step of the last checkpoint that was passed to the worker */
    double saved_at, saving_took; /* time of the last copy; seconds that training waited for it */
    /* position of checkpoint.safetensors, {0}: no file; used by worker `checkpoints` */
    dg_position saved;
    uint64_t since; /* dg_provenance.since of the run's checkpoints */
    struct {
        dg_err error;
        char message[400];
    } unsaved[DG_REWRITTEN]; /* last failure of each file, reset by a later success */
    dg_err error;            /* first failure, reported by the exit code */
} dg_outputs;

dg_err dg_outputs_open(dg_outputs *w);
/* Wait for all writes. Returns the first error. */
dg_err dg_outputs_close(dg_outputs *w);

/* Record the result e of writing a file (DG_..._FILE), and warn of a failure. Callable from any thread. */
void dg_outputs_wrote(dg_outputs *w, int file, dg_err e);

/* Record a failure; dg_message() has the text. */
void dg_outputs_failed(dg_outputs *w, dg_err e);

/* Write config.ini before other outputs, because --resume needs config.ini. */
dg_err dg_save_config(const dg_rundir *dir, const char *text);

void dg_save_reals(dg_outputs *w);

bool dg_shown(const dg_outputs *w, uint64_t epoch);
bool dg_samples_due(const dg_outputs *w, uint64_t epoch);
bool dg_judge_due(const dg_outputs *w, uint64_t epoch);
/* Only one grid is generated at a time. */
void dg_begin_samples(dg_outputs *w, uint64_t epoch);
/* Pass the grid to the worker once its pixels are copied and its epoch's metrics are checked. */
void dg_save_samples(dg_outputs *w, const dg_position *read, bool wait);

/* Start to write report.html after its epoch's grid was passed to the worker. */
void dg_save_report(dg_outputs *w);

bool dg_checkpoint_due(const dg_outputs *w, uint64_t epoch);
/* True if --checkpoint-every auto skips this epoch: the last write is unfinished, or training would wait more than 10%
 * of the time. The last epoch is never skipped. */
bool dg_checkpoint_too_soon(const dg_outputs *w, uint64_t epoch);
void dg_save_checkpoint(dg_outputs *w, const dg_position *read);
/* Save the state as the best checkpoint (best.h). */
void dg_save_best(dg_outputs *w, const dg_position *read);
