/* Checks which checkpoints made the samples in a directory. */
#ifndef DG_CLI_ORIGINS_H
#define DG_CLI_ORIGINS_H

#include <stdbool.h>
#include "host/data/dataset.h"

/* Returns DG_DATA if the images come from several checkpoints, or only some images come from a checkpoint; the message
 * has the counts. With `force`, prints a warning instead. Reads the PNG header of each file. */
dg_err dg_check_origins(const char *dir, const dg_dataset *d, bool force);

#endif
