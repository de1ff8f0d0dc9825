/* Fits a run into device memory. */
#ifndef DG_FIT_H
#define DG_FIT_H

#include "host/net/job.h"

/* Bytes of device memory for a run. The bytes include the dataset, in full or as two windows. */
size_t dg_fit_bytes(const dg_job *job);

/* Get the memory of b, limited to `most` MB unless that is 0. */
typedef struct {
    size_t unused, total, others, have; /* bytes; others: kept for graphs and libraries; have: available for a run */
} dg_room;
dg_err dg_room_of(dg_backend *b, double most, dg_room *out);

/* Build the job, with the dataset in full or in windows, if *needed <= room->have; otherwise there is no job. */
dg_err dg_build_if_fits(dg_job *job, const dg_model *m, const dg_job_options *o, dg_backend *b, const dg_room *room,
                        size_t *needed);

/* *batch: the largest batch <= o->batch that fits, 0: none. o->rows 0: a dataset of two batches, the minimum. */
dg_err dg_largest_batch(const dg_model *m, const dg_job_options *o, dg_backend *b, const dg_room *room, int *batch);

/* Build the job, with the dataset in full or in windows (job->o.window), within `most` MB unless 0. DG_DEVICE: the job
 * does not fit; the message has the largest batch size that fits. */
dg_err dg_build_to_fit(dg_job *job, const dg_model *m, const dg_job_options *o, dg_backend *b, double most);

#endif
