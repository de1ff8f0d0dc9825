/* A network that trains on a few images, used by bench, profile, tune and check. */
#pragma once

#include "host/net/job.h"

typedef struct {
    dg_job job;
    void *data, *perm;
    uint64_t step;
} dg_trial;

enum { DG_TRIAL_STEPS = 128 };

typedef struct {
    const uint8_t *pixels;
    int count;
    const int32_t *order; /* image index of each sample */
    int steps;
} dg_trial_images;

/* Build a job, initialise its weights, and copy the images p to backend memory. Close t also after errors. */
dg_err dg_trial_build(dg_trial *t, const dg_model *m, const dg_job_options *o, dg_backend *b, const dg_trial_images *p,
                      uint64_t seed);

/* Like dg_trial_build, with one batch of random images. Close t also after errors. */
dg_err dg_trial_open(dg_trial *t, const dg_model *model, int batch, dg_backend *b);
void dg_trial_close(dg_trial *t);

/* Run n <= DG_TRIAL_STEPS steps, enqueued together. Set *ms to the time per step. Returns DG_NUMBERS if a metric is not
 * finite. */
dg_err dg_trial_steps(dg_trial *t, int n, double *ms);

/* Run a training step. Set ms[i] to the time of op i of plan "train". */
dg_err dg_trial_ops(dg_trial *t, double *ms);

dg_err dg_trial_rewind(dg_trial *t);
