#ifndef DG_LOG_CURVES_H
#define DG_LOG_CURVES_H

#include "host/image/image.h"
#include "host/rundir/log_text.h"

/* Draw curves.png: the recipe's plots and plots of the logged metrics over epochs. Lines of steps are thin, lines of
 * epochs thick. n may be 0. */
dg_err dg_curves(const dg_recipe *r, const dg_log_row *rows, long n, const char *title, dg_image *out);

/* x: (n) positions of the middles of the steps on the epoch axis. If epoch 1 has only one step, its position is 0.5. */
void dg_curve_places(const dg_log_row *rows, long n, double *x);

#endif
