/* From which checkpoints the samples in a folder come. */
#ifndef DG_CLI_ORIGINS_H
#define DG_CLI_ORIGINS_H

#include <stdbool.h>
#include "host/data/dataset.h"

/* DG_DATA, with how many images come from which checkpoint, where they come from more than one, or from one and from
 * elsewhere; with `force` that is a warning. Images of one checkpoint, and images that name none, are DG_OK. Reads the
 * first bytes of each file. */
dg_err dg_check_origins(const char *dir, const dg_dataset *d, bool force);

#endif
