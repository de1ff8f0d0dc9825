/* Inputs of the targets that read logs. */
#ifndef DG_FUZZ_LOGS_H
#define DG_FUZZ_LOGS_H

#include <stddef.h>
#include <stdint.h>

#include "host/rundir/log_text.h"

/* The first byte chooses a recipe, and whether a header line with or without metrics is prepended to log.csv. The text
 * of log.csv, malloc'd in *csv, ends at a NUL. Then *data and *size describe the remaining input, which is log.jsonl.
 * Returns the recipe. */
const dg_recipe *fuzz_log(const uint8_t **data, size_t *size, char **csv);

#endif
