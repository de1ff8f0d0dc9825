/* Charts of logs. */
#ifndef DG_LOG_CURVES_H
#define DG_LOG_CURVES_H

#include "host/figure/chart.h"
#include "host/rundir/log_text.h"

/* The log of a run. x: (n) positions of the rows on the x axis. */
typedef struct {
    const dg_recipe *recipe;
    const dg_log_row *row;
    const double *x;
    long n;
} dg_run_log;

/* x: (n) receives each step's middle on the epoch axis. If epoch 1 has one step, that step is at 0.5. */
void dg_curve_places(const dg_log_row *rows, long n, double *x);

/* True if the log has enough epochs for a point per epoch. */
bool dg_curve_by_epochs(const dg_run_log *run);

/* Append the curve of metric m or, if m is NULL, of logged metric number `logged`. A point is the mean of whole epochs
 * if p->epochs is set, else of 1% of the rows. Rows without a value are skipped. Metrics of tests have one value per
 * epoch, so their curves have no ranges (bins). */
void dg_curve_add(dg_chart *p, const char *label, const dg_run_log *run, const dg_metric *m, int logged);

/* Plot number i of the recipe, over epochs. */
void dg_run_chart(dg_chart *p, const dg_run_log *run, int i);

/* Draw curves.png: the recipe's plots and plots of the logged metrics over epochs. n may be 0. */
dg_err dg_curves(const dg_recipe *r, const dg_log_row *rows, long n, const char *title, dg_image *out);

#endif
