/* Measures the step times of batch sizes. Learning rates are 0, so that weights stay constant. */
#pragma once

#include <signal.h>

#include "core/tune/machine.h"
#include "host/data/dataset.h"
#include "host/measure/batch_rule.h"
#include "host/measure/energy.h"
#include "host/measure/nvml.h"
#include "host/options/options.h"
#include "host/trainer/fit.h"
#include "host/trainer/steps.h"

/* The caller sets the members of dg_batch_bench up to `context`. */
typedef struct {
    const dg_options *o;
    const dg_model *model;
    dg_backend *backend;
    const dg_dataset *data;
    const volatile sig_atomic_t *stop;          /* if not 0, stop with DG_FAILED after the current step; may be NULL */
    void (*progress)(void *context, int batch); /* called before a batch size is timed; may be NULL */
    void *context;

    long steps; /* steps per round, or 0 if time limits measurements */
    dg_room room;
    dg_machine machine; /* highest measured peak FLOP/s */
    dg_nvml *nvml;      /* NULL: NVML is not available */
    dg_energy *energy;  /* NULL: no counter */
    dg_busy load;
    double began;
} dg_batch_bench;

typedef struct {
    dg_job job;
    dg_trainer trainer;
    int ahead;
} dg_batch_trial;

/* Build a job for this batch size within the memory b->room, and run some steps to warm up. If the job does not fit,
 * set why to the reason and leave t closed; otherwise set why to "". Returns DG_NUMBERS if a metric is not finite. */
dg_err dg_batch_open(dg_batch_trial *t, dg_batch_bench *b, int batch, char why[160]);
void dg_batch_close(dg_batch_trial *t);

/* Returns DG_DEVICE if the first size does not fit. */
dg_err dg_batch_find(dg_batch_bench *b, dg_batch_rule rule, dg_batch_table *t);
