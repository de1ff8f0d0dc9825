/* What dcgan made itself, told by the texts of a PNG: no data to learn from, and no file of anybody else's. */
#ifndef DG_MADE_H
#define DG_MADE_H

#include <stdbool.h>
#include <stddef.h>
#include "core/base/err.h"

enum { DG_HEAD_BYTES = 1024 }; /* the beginning of a file: more than enough for the texts that come before our pixels */

/* Whether these first bytes of a file are those of a PNG with a tEXt chunk `key` whose value begins with `value`. */
bool dg_png_says(const void *head, size_t bytes, const char *key, const char *value);

/* Grids, curves, contact sheets, generated pictures. Drawn cats (data --synthesize) are not: they are there to be
 * trained on. */
bool dg_made_by_us(const void *head, size_t bytes);

/* Of these the single pictures that `generate` wrote: no grid, no curves. */
bool dg_made_picture(const void *head, size_t bytes);

/* DG_USAGE, and what to do, when the folder holds anything but PNGs with such a text and one of these names
 * (fnmatch; NULL ends them). Hidden files do not count; DG_OK when there is no such folder. */
dg_err dg_only_ours(const char *dir, const char *const *names, const char *key, const char *value);

#endif
