/* Checks the checkpoints that samples in a directory come from. */
#ifndef DG_CLI_ORIGINS_H
#define DG_CLI_ORIGINS_H

#include <stdbool.h>
#include "host/data/dataset.h"

/* DG_DATA, or with `force` a warning, if the images come from several checkpoints or from one and elsewhere; the
 * message has the counts. Reads the PNG header of each file. */
dg_err dg_check_origins(const char *dir, const dg_dataset *d, bool force);

#endif
