/* Inputs of the fuzz targets that read logs. */
#ifndef DG_FUZZ_LOGS_H
#define DG_FUZZ_LOGS_H

#include <stddef.h>
#include <stdint.h>

#include "host/rundir/log_text.h"

/* The first byte of the input selects a recipe and its header of log.csv: none, without metrics, or with metrics. The
 * text of log.csv, malloc'd in *csv, ends at a NUL. Then *data and *size describe the remaining input, which is
 * log.jsonl. Returns the recipe. */
const dg_recipe *fuzz_log(const uint8_t **data, size_t *size, char **csv);

#endif
