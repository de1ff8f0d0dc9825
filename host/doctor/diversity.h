/* Computes the diversity of the samples in a grid relative to real images. A grid's PNG stores the diversity as text
 * chunk Diversity. */
#pragma once

#include <dirent.h>

#include "host/doctor/doctor.h"

/* Returns the root of the mean variance of pixel values over n images. `values` is the number of pixel values per
 * image. */
double dg_diversity(const uint8_t *pixels, int n, size_t values);

/* Set *epoch to a malloc'd array with the epochs of the sample grids in d, ascending. Closes d. If d is NULL, fails
 * with errno. */
dg_err dg_grid_epochs(DIR *d, const char *path, uint64_t **epoch, int *n);

/* Read the diversities of a run's sample grids into the malloc'd array *seen, sorted by epoch. Set *seen to NULL and
 * *n to 0 before the first call. Later calls replace the array. */
dg_err dg_grids_seen(const char *dir, dg_grid_seen **seen, int *n);

/* Pass the log rows and sample grids of a resumed run to the doctor rules, without reporting old findings. */
dg_err dg_doctor_take_up(dg_doctor *d, dg_loss loss, const dg_log_row *row, long rows, const char *dir);
