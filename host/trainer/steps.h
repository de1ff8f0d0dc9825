/* Runs the steps of an epoch: uploads images and launches plans. Call dg_epoch_begin before the first step of an epoch
 * or of a session. */
#pragma once

#include "host/data/loader.h"
#include "host/net/job.h"
#include "host/trainer/position.h"

/* Returns the steps per epoch, including a short last batch. */
uint64_t dg_epoch_length(const dg_loader *f);

dg_err dg_epoch_begin(dg_job *job, dg_loader *f, const dg_position *at, const double lr[DG_NETS_MAX]);

/* Launch n steps of full batches, or the step of the short last batch, and advance `at`. n is at most
 * dg_loader_steps. `lr` has the learning rate of each network. */
dg_err dg_epoch_steps(dg_job *job, dg_loader *f, dg_position *at, const double lr[DG_NETS_MAX], int n);

/* Training without a run directory, for the library and `eval --two-sample`. Metrics are checked after each launch. */
typedef struct {
    dg_job *job;
    uint8_t *ready; /* whitened images with labels, or NULL */
    int32_t *label;
    dg_loader feed;
    dg_position at;
    bool begun;
    double lr;
    dg_metrics last;
} dg_trainer;

/* Build *job for `count` images, which the caller keeps. Labels are copied. o->rows and o->last_batch are ignored.
 * Weights are not initialised. Zero t before the call; close t also after errors, and free the job. */
dg_err dg_trainer_open(dg_trainer *t, dg_job *job, const dg_model *m, const dg_job_options *o, dg_backend *b,
                       const uint8_t *pixels, const int32_t *label, int count, bool drop_last, uint64_t seed);
/* Like dg_trainer_open, for a job that is built. If `label` is NULL, labels are 0, 1, ... in turn. */
dg_err dg_trainer_start(dg_trainer *t, dg_job *job, const uint8_t *pixels, const int32_t *label, int count,
                        bool drop_last, uint64_t seed);
void dg_trainer_close(dg_trainer *t);

/* Run n steps. Returns DG_NUMBERS if a metric is not finite. */
dg_err dg_trainer_steps(dg_trainer *t, int n);
