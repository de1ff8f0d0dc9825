/* Description and layout of line charts, which host/report/plot.c draws as SVG. */
#pragma once

#include <stdbool.h>

enum { DG_CHART_CURVES = 7, DG_CHART_POINTS = 400, DG_CHART_BINS = 300, DG_AXIS_TICKS = 100 };

/* A curve: a line through the points (x, y), and a band between the points (at, low) and (at, high). */
typedef struct {
    char label[160];
    int points, bins;
    double x[DG_CHART_POINTS], y[DG_CHART_POINTS];
    double at[DG_CHART_BINS], low[DG_CHART_BINS], high[DG_CHART_BINS];
} dg_curve;

typedef struct {
    char title[200];
    const char *x_label; /* unit of the x axis, such as "epoch" */
    double y_max;        /* upper end of the y axis, or 0 to fit the axis to the data */
    bool epochs;         /* each point is the mean of an epoch, drawn at the middle of the epoch */
    int curves;
    dg_curve curve[DG_CHART_CURVES];
} dg_chart;

typedef struct {
    double low, high, step; /* range of the axis; ticks are multiples of step */
} dg_axis;

/* cut: true if the y axis excludes high outliers, such as a diverging step; largest: the highest outlier. */
typedef struct {
    dg_axis x, y;
    double largest;
    bool cut;
} dg_layout;

dg_layout dg_chart_layout(const dg_chart *c, int x_ticks, int y_ticks);

int dg_axis_ticks(const dg_axis *a, double v[DG_AXIS_TICKS]);
void dg_axis_label(char out[40], const dg_axis *a, double v);

/* Returns the position of v as a fraction of the axis's length, clamped to -1..2. NaN gives -1. */
double dg_axis_part(const dg_axis *a, double v);
