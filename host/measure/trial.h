/* A network that trains on random images, to be timed: for bench, profile and tune. */
#ifndef DG_TRIAL_H
#define DG_TRIAL_H

#include "host/net/job.h"

typedef struct {
    dg_job job;
    void *data, *perm; /* one batch of images, and enough of a permutation for DG_TRIAL_STEPS */
    uint64_t step;     /* done so far */
} dg_trial;

enum { DG_TRIAL_STEPS = 128 };

/* Build, allocate, fill with weights. Close it after errors too. */
dg_err dg_trial_open(dg_trial *t, const dg_model *model, int batch, dg_backend *b);
void dg_trial_close(dg_trial *t);

/* n steps, at most DG_TRIAL_STEPS, enqueued together as in training: ms a step. DG_NUMBERS when one of them
 * did not compute finite numbers: then its time means nothing. */
dg_err dg_trial_steps(dg_trial *t, int n, double *ms);

/* One step op by op: ms[i] of op i of plan "train". */
dg_err dg_trial_ops(dg_trial *t, double *ms);

/* What the next step reads is as at the beginning of an epoch. */
dg_err dg_trial_rewind(dg_trial *t);

#endif
