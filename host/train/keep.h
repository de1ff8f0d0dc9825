/* Keeps report.html of a run current while it trains, on the thread of a writer. It fails no run: what goes wrong is a
 * warning, and `dcgan report` makes the page again. */
#ifndef DG_REPORT_KEEP_H
#define DG_REPORT_KEEP_H

#include "core/base/worker.h"
#include "host/data/dataset.h"
#include "host/report/report.h"
#include "host/rundir/rundir.h"

typedef struct dg_report_keeper dg_report_keeper;

/* It reads what the writer of grids has written, and of data, where that is not NULL, which images are nearest. All
 * of them stay until it is closed, the writers too. */
dg_err dg_report_keep(const dg_rundir *dir, const dg_dataset *data, dg_worker *writer, dg_worker *grids,
                      dg_report_keeper **out);

/* Write it, or leave that for later: an older one is being written, or pages would take more than a twentieth of the
 * time. last: now, whatever is. Returns whether. */
bool dg_report_renew(dg_report_keeper *k, bool last);

void dg_report_keep_end(dg_report_keeper *k); /* behind the end of its writer; k may be NULL */

#endif
