/* How different the images of a grid are. Each grid's file says it, beside the real images, as text Diversity. */
#ifndef DG_DIVERSITY_H
#define DG_DIVERSITY_H

#include "host/doctor/doctor.h"

/* The root of the mean variance of a value over n images of so many values. */
double dg_diversity(const uint8_t *pixels, int n, size_t values);

/* Those of a run directory's grids, in their order, malloc'd; those that do not say it are left out. *seen, of *n, are
 * NULL or those that were seen before, of which no file is opened again. */
dg_err dg_grids_seen(const char *dir, dg_grid_seen **seen, int *n);

/* A run goes on behind these rows: what was found in them is not told again. */
dg_err dg_doctor_take_up(dg_doctor *d, dg_loss loss, const dg_log_row *row, long rows, const char *dir);

#endif
