/* Checks which checkpoints made the samples in a directory. */
#ifndef DG_CLI_ORIGINS_H
#define DG_CLI_ORIGINS_H

#include <stdbool.h>
#include "host/data/dataset.h"

/* DG_DATA if the images come from several checkpoints, or if only some come from a checkpoint. With `force` this is
 * only a warning. The message has the counts. Reads the PNG header of each file. */
dg_err dg_check_origins(const char *dir, const dg_dataset *d, bool force);

#endif
