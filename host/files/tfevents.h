/* Events as TensorBoard reads them: records with a masked CRC-32C around an Event of TensorFlow's protocol buffers. */
#ifndef DG_TFEVENTS_H
#define DG_TFEVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "core/base/file_io.h"

typedef struct dg_tfevents dg_tfevents;

/* The file of that name in the directory, of at most 4 GiB. last_step: what it has of later steps, and what is torn,
 * goes; 0: it is begun anew, as where there is none. */
dg_err dg_tfevents_open(const dg_directory *dir, const char *path, uint64_t last_step, dg_tfevents **out);

/* Has the file of that name, in the open directory, no event but the first, which a start writes? */
bool dg_tfevents_is_empty(int dir, const char *name);

/* Values of a step, n of them with their tags; those that are NaN are left out. They wait in memory until the flush. */
dg_err dg_tfevents_scalars(dg_tfevents *t, uint64_t step, const char *const *tag, const double *value, int n);
/* A PNG, from any thread; it is written at once. */
dg_err dg_tfevents_image(dg_tfevents *t, uint64_t step, const char *tag, int W, int H, int C, const void *png,
                         size_t bytes);
dg_err dg_tfevents_flush(dg_tfevents *t);
dg_err dg_tfevents_close(dg_tfevents *t); /* t may be NULL */

#endif
