/* Charts of logs. */
#pragma once

#include "host/figure/chart.h"
#include "host/rundir/log_text.h"

/* The n log rows of a run. Array x has the position of each row on the x axis. */
typedef struct {
    const dg_recipe *recipe;
    const dg_log_row *row;
    const double *x;
    long n;
} dg_run_log;

/* Store in x (n) each row's position on the epoch axis: the middle of its step. A single step of epoch 1 is at 0.5. */
void dg_curve_places(const dg_log_row *rows, long n, double *x);

/* True if the log has enough epochs for curves with one point per epoch. */
bool dg_curve_by_epochs(const dg_run_log *run);

/* Append the curve of metric m to chart p or, if m is NULL, of sample metric `logged`. A point is the mean of an epoch
 * (p->epochs set) or of 1% of the rows. Rows without a value are skipped. Test metrics have one value per epoch, so
 * their curves have no value ranges (bins). */
void dg_curve_add(dg_chart *p, const char *label, const dg_run_log *run, const dg_metric *m, int logged);

/* Chart of plot i of the recipe. */
void dg_run_chart(dg_chart *p, const dg_run_log *run, int i);
