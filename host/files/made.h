/* What dcgan made itself, told by the texts of a PNG and the comment of a GIF: no data to learn from, and no file of
 * anybody else's. */
#ifndef DG_MADE_H
#define DG_MADE_H

#include <stdbool.h>
#include <stddef.h>
#include "core/base/err.h"

/* The text of a sample that names its checkpoint: model, step, and a hash of the generator's weights. */
#define DG_ORIGIN "Origin"

/* More than enough for all texts of our samples, whose checkpoint may have a long path. */
enum { DG_TEXTS_BYTES = 8192 };

enum { DG_HEAD_BYTES = 1024 }; /* the beginning of a file: more than enough for the texts that come before our pixels */

/* Whether these first bytes of a file are those of a PNG with a tEXt chunk `key` whose value begins with `value`. */
bool dg_png_says(const void *head, size_t bytes, const char *key, const char *value);

/* Copy the value of its tEXt chunk `key`, cut to size, into out; false: it has none here. */
bool dg_png_text(const void *head, size_t bytes, const char *key, char *out, size_t size);

/* Whether these first bytes of a file are those of a GIF whose comment, before its frames, begins with `value`. */
bool dg_gif_says(const void *head, size_t bytes, const char *value);

/* Grids, curves, contact sheets, generated images, GIFs. Drawn cats (data --synthesize) are not: they are there to be
 * trained on. */
bool dg_made_by_us(const void *head, size_t bytes);

/* Of these the single images that `generate` wrote: no grid, no curves. */
bool dg_made_image(const void *head, size_t bytes);

/* DG_USAGE, and what to do, when the folder holds anything but PNGs with such a text and one of these names
 * (fnmatch; NULL ends them). Hidden files do not count; DG_OK when there is no such folder. */
dg_err dg_only_ours(const char *dir, const char *const *names, const char *key, const char *value);

/* DG_USAGE when the folder holds samples of another origin; all are samples of ours (dg_only_ours). */
dg_err dg_only_origin(const char *dir, const char *const *names, const char *origin);

#endif
