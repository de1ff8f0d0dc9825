/* Diversity of a grid's samples relative to real images, stored in each grid's PNG as text Diversity. */
#ifndef DG_DIVERSITY_H
#define DG_DIVERSITY_H

#include <dirent.h>

#include "host/doctor/doctor.h"

/* Returns the root of the mean variance: each value's variance over n images, averaged over all values. */
double dg_diversity(const uint8_t *pixels, int n, size_t values);

/* The epochs of the grids in this directory, ascending, malloc'd. Closes d; if d is NULL, fails with errno. */
dg_err dg_grid_epochs(DIR *d, const char *path, uint64_t **epoch, int *n);

/* Read the diversities of a run's grids, sorted by epoch; grids without the text are skipped. *seen and *n are NULL and
 * 0, or an earlier result, which is reused and replaced. *seen is malloc'd. */
dg_err dg_grids_seen(const char *dir, dg_grid_seen **seen, int *n);

/* Feed the rows and grids of a resumed run to the doctor without reporting old findings. */
dg_err dg_doctor_take_up(dg_doctor *d, dg_loss loss, const dg_log_row *row, long rows, const char *dir);

#endif
