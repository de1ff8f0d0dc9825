/* A plot as inline SVG of any width. Readers see values by mouse, touch or keyboard. */
#ifndef DG_REPORT_PLOT_H
#define DG_REPORT_PLOT_H

#include <stdbool.h>
#include <stdio.h>
#include "host/rundir/log_text.h"

enum { DG_PLOT_CURVES = 7, DG_PLOT_POINTS = 400, DG_PLOT_BINS = 300 };

/* A curve: window means x, y, and value ranges low .. high at `at`. */
typedef struct {
    char label[160];
    int points, bins;
    double x[DG_PLOT_POINTS], y[DG_PLOT_POINTS];
    double at[DG_PLOT_BINS], low[DG_PLOT_BINS], high[DG_PLOT_BINS];
} dg_plot_curve;

typedef struct {
    const char *title, *unit; /* unit: name of the unit of the x axis, "epoch" */
    double y_max;             /* the axis is 0..y_max; 0: fitted to the data */
    bool epochs;              /* each point is the mean of a whole epoch and is drawn at its middle */
    int curves;
    dg_plot_curve curve[DG_PLOT_CURVES];
} dg_report_plot;

/* True if the log has enough epochs for a point per epoch. */
bool dg_plot_by_epochs(const dg_log_row *row, long n);

/* Fill c with a metric; x: (n) axis positions of the rows. A point is the mean of whole epochs, or of a 100th of the
 * rows. Rows without a value are skipped. */
void dg_plot_fill(dg_plot_curve *c, const dg_metric *m, const dg_log_row *row, const double *x, long n, bool epochs);

void dg_plot_write(FILE *to, const dg_report_plot *p);

#endif
