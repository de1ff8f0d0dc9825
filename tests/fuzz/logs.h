/* Inputs of the targets that read logs. */
#ifndef DG_FUZZ_LOGS_H
#define DG_FUZZ_LOGS_H

#include <stddef.h>
#include <stdint.h>

#include "host/rundir/log_text.h"

/* The first byte chooses a recipe. It also chooses whether the recipe's header is prepended, with or without metrics.
 * The text of log.csv ends at a NUL (malloc'd in csv); data and size then describe the remaining input, which is
 * log.jsonl. Returns the recipe. */
const dg_recipe *fuzz_log(const uint8_t **data, size_t *size, char **csv);

#endif
