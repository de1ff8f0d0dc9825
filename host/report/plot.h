/* A chart as inline SVG of any width. Readers see values by mouse, touch or keyboard. */
#ifndef DG_REPORT_PLOT_H
#define DG_REPORT_PLOT_H

#include <stdio.h>

#include "host/figure/chart.h"

void dg_plot_write(FILE *to, const dg_chart *p);

#endif
