/* Chooses batch and window sizes so that a run fits into device memory. */
#pragma once

#include "host/net/job.h"

/* Returns the bytes of device memory for a run with its dataset, or with two dataset windows. */
size_t dg_fit_bytes(const dg_job *job);

typedef struct {
    size_t unused, total, others, have; /* in bytes; others: for CUDA graphs; have: for the run, at most `most` */
} dg_room;
dg_err dg_room_of(dg_backend *b, double most, dg_room *out);

/* Build the job, with dataset windows if the dataset does not fit. If *needed bytes exceed room->have, no job is
 * built. */
dg_err dg_build_if_fits(dg_job *job, const dg_model *m, const dg_job_options *o, dg_backend *b, const dg_room *room,
                        size_t *needed);

/* Set *batch to the largest batch size <= o->batch that fits, or 0. o->rows is the number of images; 0: two batches. */
dg_err dg_largest_batch(const dg_model *m, const dg_job_options *o, dg_backend *b, const dg_room *room, int *batch);

/* Build the job, with dataset windows (job->o.window) if the dataset does not fit. `most` is a memory limit in MB; 0:
 * no limit. Returns DG_DEVICE if the job does not fit; the message names the largest batch size that fits, if one
 * does. */
dg_err dg_build_to_fit(dg_job *job, const dg_model *m, const dg_job_options *o, dg_backend *b, double most);
