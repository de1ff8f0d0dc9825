/* TensorBoard event files: records with a masked CRC-32C around a TensorFlow Event (Protocol Buffers). */
#ifndef DG_TFEVENTS_H
#define DG_TFEVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "core/base/file_io.h"

typedef struct dg_tfevents dg_tfevents;

/* Open the event file `path` of at most 4 GiB in the directory. Records after last_step and incomplete records are
 * removed. If last_step is 0 or the file is missing, starts a new file. */
dg_err dg_tfevents_open(const dg_directory *dir, const char *path, uint64_t last_step, dg_tfevents **out);

/* True if the file has only the event that is written when a file is created. */
bool dg_tfevents_is_empty(int dir, const char *name);

/* Add n values with their tags; NaN is left out. The values stay in memory until dg_tfevents_flush. */
dg_err dg_tfevents_scalars(dg_tfevents *t, uint64_t step, const char *const *tag, const double *value, int n);
/* Write a PNG at once. Thread-safe. */
dg_err dg_tfevents_image(dg_tfevents *t, uint64_t step, const char *tag, int W, int H, int C, const void *png,
                         size_t bytes);
dg_err dg_tfevents_flush(dg_tfevents *t);
dg_err dg_tfevents_close(dg_tfevents *t);

#endif
