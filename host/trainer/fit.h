/* Does a run fit into the memory of its device? */
#ifndef DG_FIT_H
#define DG_FIT_H

#include "host/net/job.h"

/* Bytes on the device that a run of this job takes: everything but the images, and those, whole or as two windows. */
size_t dg_fit_bytes(const dg_job *job);

/* What b has room for, of `most` MB of it unless that is 0. */
typedef struct {
    size_t unused, total, others, have; /* bytes; others: of a GPU's for the driver; have: for a run */
} dg_room;
dg_err dg_room_of(dg_backend *b, double most, dg_room *out);

/* Build the job, its data set whole or in two windows, if it fits into that room: *needed <= room->have. Where it does
 * not there is no job. */
dg_err dg_build_if_fits(dg_job *job, const dg_model *m, const dg_job_options *o, dg_backend *b, const dg_room *room,
                        size_t *needed);

/* *batch: the largest up to o->batch that fits, and can be built, 0: none. Of o->rows images; 0: of two batches, the
 * least that any set must have there. */
dg_err dg_largest_batch(const dg_model *m, const dg_job_options *o, dg_backend *b, const dg_room *room, int *batch);

/* Build the job, its data set whole or in two windows (job->o.window), so that it fits into b's memory, and into
 * `most` MB of it unless that is 0. DG_DEVICE says what is needed, what there is and the largest batch that fits. */
dg_err dg_build_to_fit(dg_job *job, const dg_model *m, const dg_job_options *o, dg_backend *b, double most);

#endif
