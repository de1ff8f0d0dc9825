/* The summary of --dry-run. */
#ifndef DG_DRY_RUN_H
#define DG_DRY_RUN_H

#include "host/data/dataset.h"
#include "host/net/job.h"
#include "host/options/options.h"

/* Print the summary. o: settled for this dataset (length.h); memory: bytes of the whole run. Times a few steps in
 * separate memory; DG_NUMBERS if they do not compute. */
dg_err dg_dry_run_print(const dg_options *o, const dg_job *job, const dg_dataset *data, double memory);

#endif
