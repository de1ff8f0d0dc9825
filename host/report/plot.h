/* Writes a chart as inline SVG of any width. Mouse, touch and keyboard show the values of points. */
#ifndef DG_REPORT_PLOT_H
#define DG_REPORT_PLOT_H

#include <stdio.h>

#include "host/figure/chart.h"

void dg_plot_write(FILE *to, const dg_chart *p);

#endif
