/* Charts: their description, and the layout that plot.c (pixels) and host/report/plot.c (SVG) draw. */
#ifndef DG_CHART_H
#define DG_CHART_H

#include <stdbool.h>
#include <stdint.h>

#include "host/image/image.h"

enum { DG_CHART_CURVES = 7, DG_CHART_POINTS = 400, DG_CHART_BINS = 300, DG_AXIS_TICKS = 100 };

/* Colours of the curves, which colour-blind readers can distinguish (Okabe & Ito 2008). */
extern const uint8_t dg_chart_color[DG_CHART_CURVES][3];

/* A curve: a line through x, y, and a band of value ranges low .. high at `at`. */
typedef struct {
    char label[160];
    int points, bins;
    double x[DG_CHART_POINTS], y[DG_CHART_POINTS];
    double at[DG_CHART_BINS], low[DG_CHART_BINS], high[DG_CHART_BINS];
} dg_curve;

typedef struct {
    char title[200];
    const char *x_label, *y_label; /* x_label: the unit of the x axis, "epoch" */
    double y_max;                  /* the axis is 0..y_max; 0: fitted to the data */
    bool epochs;                   /* each point is the mean of a whole epoch and is drawn at its middle */
    int curves;
    dg_curve curve[DG_CHART_CURVES];
} dg_chart;

typedef struct {
    double low, high, step; /* ticks at multiples of step */
} dg_axis;

/* cut: points far above all others (a diverging step) are left out of the y axis; `largest` is their maximum. */
typedef struct {
    dg_axis x, y;
    double largest;
    bool cut;
} dg_layout;

/* Choose the ranges of both axes, with at most x_ticks and y_ticks intervals. */
dg_layout dg_chart_layout(const dg_chart *c, int x_ticks, int y_ticks);

/* Ticks of an axis; returns their number. */
int dg_axis_ticks(const dg_axis *a, double v[DG_AXIS_TICKS]);
void dg_axis_label(char out[40], const dg_axis *a, double v);

/* Position of v as a fraction of the axis, clamped to -1..2; NaN: -1. */
double dg_axis_part(const dg_axis *a, double v);

/* Draw n charts as an image in a column of plots, each 900 x height pixels, below a title (NULL: none). */
dg_err dg_charts_draw(const dg_chart *chart, int n, const char *title, int height, dg_image *out);

#endif
