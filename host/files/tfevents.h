/* Writes TensorBoard event files. A record is a TensorFlow Event (Protocol Buffers) with a masked CRC-32C. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "core/base/file_io.h"

typedef struct dg_tfevents dg_tfevents;

/* Open the event file `path` of at most 4 GiB in directory dir. Records of steps after last_step and incomplete records
 * are removed. If last_step is 0, a new file is started. */
dg_err dg_tfevents_open(const dg_directory *dir, const char *path, uint64_t last_step, dg_tfevents **out);

/* True if the event file has only its first record, which has no values. */
bool dg_tfevents_is_empty(int dir, const char *name);

/* Add n values with their tags, except NaN. The values stay in memory until the buffer is full or dg_tfevents_flush
 * is called. */
dg_err dg_tfevents_scalars(dg_tfevents *t, uint64_t step, const char *const *tag, const double *value, int n);
/* Add a PNG and write it to the file. Thread-safe. */
dg_err dg_tfevents_image(dg_tfevents *t, uint64_t step, const char *tag, int W, int H, int C, const void *png,
                         size_t bytes);
dg_err dg_tfevents_flush(dg_tfevents *t);
dg_err dg_tfevents_close(dg_tfevents *t);
