/* Writes a chart as inline SVG that shows the values of points on mouse, touch and keyboard input. */
#pragma once

#include <stdio.h>

#include "host/figure/chart.h"

void dg_plot_write(FILE *to, const dg_chart *p);
