#ifndef DG_LOG_CURVES_H
#define DG_LOG_CURVES_H

#include "host/image/image.h"
#include "host/rundir/log_text.h"

/* Draw curves.png: plots of the recipe and of logged metrics over epochs; steps thin, epoch means thick. n may be 0. */
dg_err dg_curves(const dg_recipe *r, const dg_log_row *rows, long n, const char *title, dg_image *out);

/* x: (n) positions of steps on the epoch axis, at their middle: 0.5 for the only step of epoch 1. */
void dg_curve_places(const dg_log_row *rows, long n, double *x);

#endif
