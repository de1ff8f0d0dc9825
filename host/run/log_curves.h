/* The log of a run as plots. */
#ifndef DG_LOG_CURVES_H
#define DG_LOG_CURVES_H

#include "host/image/image.h"
#include "host/rundir/log_text.h"

/* A run's curves.png, 900 wide: the plots of its recipe, each step thin and each epoch's mean thick, over epochs, and
 * where rows have measures these. n may be 0. */
dg_err dg_curves(const dg_recipe *r, const dg_log_row *rows, long n, const char *title, dg_image *out);

/* The place of each of n steps on the axis of epochs, its middle: 0.5 of an epoch of one step. */
void dg_curve_places(const dg_log_row *rows, long n, double *x);

#endif
