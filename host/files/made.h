/* Detects files made by dcgan, by PNG texts and GIF comments: they are not training data and may be replaced. */
#ifndef DG_MADE_H
#define DG_MADE_H

#include <stdbool.h>
#include <stddef.h>
#include "core/base/err.h"

/* The text of a sample that names its checkpoint: model, step, and a hash of the generator's weights. */
#define DG_ORIGIN "Origin"

/* Room for all texts of a sample; its checkpoint may have a long path. */
enum { DG_TEXTS_BYTES = 8192 };

enum { DG_HEAD_BYTES = 1024 }; /* number of first bytes of a file that include the texts before the pixels */

/* True if the PNG with these first bytes has a tEXt chunk `key` whose value begins with `value`. */
bool dg_png_says(const void *head, size_t bytes, const char *key, const char *value);

/* Copy the value of tEXt chunk `key`, cut to size, into out; false: not in these bytes. */
bool dg_png_text(const void *head, size_t bytes, const char *key, char *out, size_t size);

/* True if the GIF with these first bytes has a comment before its frames that begins with `value`. */
bool dg_gif_says(const void *head, size_t bytes, const char *value);

/* True for grids, curves, contact sheets, generated images, GIFs, but not for drawn cats: these are training data. */
bool dg_made_by_us(const void *head, size_t bytes);

/* True for single images written by `generate`, but not for grids and curves. */
bool dg_made_image(const void *head, size_t bytes);

/* DG_USAGE with advice if the folder has anything but PNGs with this text and one of these names (fnmatch patterns,
 * NULL-terminated). Hidden files are ignored; a missing folder is DG_OK. */
dg_err dg_only_ours(const char *dir, const char *const *names, const char *key, const char *value);

/* DG_USAGE if the folder has samples of another origin. Call dg_only_ours before. */
dg_err dg_only_origin(const char *dir, const char *const *names, const char *origin);

#endif
