/* Detects files made by dcgan, by PNG texts and GIF comments: they are not training data and may be replaced. */
#ifndef DG_MADE_H
#define DG_MADE_H

#include <stdbool.h>
#include <stddef.h>
#include "core/base/err.h"

/* Key of the PNG text that names a sample's checkpoint by model, step and a hash of the generator's weights. */
#define DG_ORIGIN "Origin"

/* Size of a buffer for all texts of a sample, which include the checkpoint's path. */
enum { DG_TEXTS_BYTES = 8192 };

enum { DG_HEAD_BYTES = 1024 }; /* length of a file's beginning that includes the texts before the pixels */

/* True if the PNG with these first bytes has a tEXt chunk `key` whose value begins with `value`. */
bool dg_png_says(const void *head, size_t bytes, const char *key, const char *value);

/* Copy the value of tEXt chunk `key`, truncated to `size` bytes, into out. Returns false if the chunk is missing. */
bool dg_png_text(const void *head, size_t bytes, const char *key, char *out, size_t size);

/* True if the GIF with these first bytes has a comment before its frames that begins with `value`. */
bool dg_gif_says(const void *head, size_t bytes, const char *value);

/* True for grids, curves, contact sheets, generated images and GIFs. False for images that
 * `data --synthesize` made, which are training data. */
bool dg_made_by_us(const void *head, size_t bytes);

/* True for single images written by `generate`, but not for grids and curves. */
bool dg_made_image(const void *head, size_t bytes);

/* Returns DG_USAGE with advice unless each file of the folder is a PNG with this text and matches one of `names`
 * (fnmatch patterns, NULL-terminated). Hidden files are ignored; DG_OK for a missing folder. */
dg_err dg_only_ours(const char *dir, const char *const *names, const char *key, const char *value);

/* Returns DG_USAGE if the folder has samples of another checkpoint. Call dg_only_ours before. */
dg_err dg_only_origin(const char *dir, const char *const *names, const char *origin);

#endif
