/* Updates report.html during training on a writer thread. Failures are warnings only; `dcgan report` rewrites the
 * page. */
#ifndef DG_REPORT_KEEP_H
#define DG_REPORT_KEEP_H

#include "core/base/worker.h"
#include "host/data/dataset.h"
#include "host/report/report.h"
#include "host/rundir/rundir.h"

typedef struct dg_report_keeper dg_report_keeper;

/* If data is NULL, the page has no nearest images. grids: the worker that writes the grids. All arguments must outlive
 * the keeper. */
dg_err dg_report_keep(const dg_rundir *dir, const dg_dataset *data, dg_worker *writer, dg_worker *grids,
                      dg_report_keeper **out);

/* Start to write a page, unless a page is still being written or pages would take more than 5% of the time. last: wait
 * for older pages, then start. Returns true if started. */
bool dg_report_renew(dg_report_keeper *k, bool last);

void dg_report_keep_end(dg_report_keeper *k); /* Call after the writer was closed. k may be NULL. */

#endif
