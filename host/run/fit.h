/* Does a run fit into the memory of its device? */
#ifndef DG_FIT_H
#define DG_FIT_H

#include "host/net/job.h"

/* Build the job, its data set whole or in two windows (job->o.window), so that it fits into b's memory, and into
 * `most` MB of it unless that is 0. DG_DEVICE says what is needed, what there is and the largest batch that fits. */
dg_err dg_build_to_fit(dg_job *job, const dg_model *m, const dg_job_options *o, dg_backend *b, double most);

#endif
