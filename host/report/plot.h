/* A plot in a page: inline SVG that any width fits, values beside it by mouse, finger or keyboard. */
#ifndef DG_REPORT_PLOT_H
#define DG_REPORT_PLOT_H

#include <stdbool.h>
#include <stdio.h>
#include "host/rundir/log_text.h"

enum { DG_PLOT_CURVES = 7, DG_PLOT_POINTS = 400, DG_PLOT_BINS = 300 };

/* A curve: means over windows of its values, and from which to which value the single ones go. */
typedef struct {
    char label[160];
    int points, bins;
    double x[DG_PLOT_POINTS], y[DG_PLOT_POINTS];
    double at[DG_PLOT_BINS], low[DG_PLOT_BINS], high[DG_PLOT_BINS];
} dg_plot_curve;

typedef struct {
    const char *title, *unit; /* unit: of the x axis, "epoch" */
    double y_max;             /* the axis goes from 0 to here; 0: as the data */
    bool epochs;              /* a point is the mean of whole epochs, at their middle */
    int curves;
    dg_plot_curve curve[DG_PLOT_CURVES];
} dg_report_plot;

/* Has this log epochs enough for a point each? */
bool dg_plot_by_epochs(const dg_log_row *row, long n);

/* Fill c with a metric of these rows, whose places on the axis are x: a point is the mean of one epoch or some, or of
 * as many rows as make 100 points. Rows without a value, such as those between two tests, count for nothing. */
void dg_plot_fill(dg_plot_curve *c, const dg_metric *m, const dg_log_row *row, const double *x, long n, bool epochs);

void dg_plot_write(FILE *to, const dg_report_plot *p);

#endif
