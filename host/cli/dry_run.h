/* The summary of --dry-run. */
#ifndef DG_DRY_RUN_H
#define DG_DRY_RUN_H

#include "host/data/dataset.h"
#include "host/net/job.h"
#include "host/options/options.h"

/* Print the run's summary, and time a few training steps in separate memory. o: options with all automatic values set
 * (length.h). memory: bytes of the whole run. DG_NUMBERS: a step computed a value that is not finite. */
dg_err dg_dry_run_print(const dg_options *o, const dg_job *job, const dg_dataset *data, double memory);

#endif
