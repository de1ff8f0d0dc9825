/* Updates report.html during training on a writer thread. Failures are only warnings. */
#pragma once

#include "core/base/worker.h"
#include "host/data/dataset.h"
#include "host/report/report.h"
#include "host/rundir/rundir.h"

typedef struct dg_report_keeper dg_report_keeper;

/* Prepare updates of report.html. The arguments must outlive *out. `data` has the training images, or is NULL. Worker
 * `grids` writes the image grids. */
dg_err dg_report_keep(const dg_rundir *dir, const dg_dataset *data, dg_worker *writer, dg_worker *grids,
                      dg_report_keeper **out);

/* Start to write report.html, unless the previous write is unfinished or ended less than 20 times its duration ago.
 * Returns true if the write was started. If `last` is set, wait for earlier writes, then always start; the page then no
 * longer reloads itself. */
bool dg_report_renew(dg_report_keeper *k, bool last);

void dg_report_keep_end(dg_report_keeper *k); /* Call dg_report_keep_end after closing the writer; k may be NULL. */
