/* What a run would be, in ten lines. */
#ifndef DG_DRY_RUN_H
#define DG_DRY_RUN_H

#include "host/data/dataset.h"
#include "host/net/job.h"
#include "host/options/options.h"

/* On stdout. o is settled for these images (length.h); the job is built for them, and memory is what the whole run
 * takes, in bytes. Some steps are timed, on memory of their own: DG_NUMBERS when they do not compute. */
dg_err dg_dry_run_print(const dg_options *o, const dg_job *job, const dg_dataset *data, double memory);

#endif
