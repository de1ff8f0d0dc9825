/* Detects by PNG texts and GIF comments whether dcgan made an image. Outputs may replace images made by dcgan. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include "core/base/err.h"

/* Key of the PNG text that identifies a sample's checkpoint by model, step and a hash of the generator's weights. */
#define DG_ORIGIN "Origin"

/* The first DG_TEXTS_BYTES bytes of a sample's PNG include all its texts. */
enum { DG_TEXTS_BYTES = 8192 };

enum { DG_HEAD_BYTES = 1024 }; /* number of bytes at a file's beginning that identify images made by dcgan */

/* True if the beginning of a PNG in `head` has a tEXt chunk `key` with a value that begins with `value`. */
bool dg_png_says(const void *head, size_t bytes, const char *key, const char *value);

/* Copy the value of the tEXt chunk `key`, truncated to `size` bytes, into out. Returns false if the PNG lacks the
 * chunk `key`. */
bool dg_png_text(const void *head, size_t bytes, const char *key, char *out, size_t size);

/* True if a GIF has a comment before its frames, and the comment begins with `value`. `head` has the first bytes of
 * the GIF. */
bool dg_gif_says(const void *head, size_t bytes, const char *value);

/* True for all images and GIFs made by dcgan, except images of `dcgan data --synthesize`, which are training data. */
bool dg_made_by_us(const void *head, size_t bytes);

/* True for single images written by `dcgan generate`, but not for grids. */
bool dg_made_image(const void *head, size_t bytes);

/* Text key of grids with a class per row. */
#define DG_GRID_ROWS "Rows"

#define DG_MADE_FOLDERS "*/"

/* Check that each file in dir is a PNG with the text (key, value). Each name must match one of the fnmatch patterns
 * `names` (NULL-terminated). If names[0] is DG_MADE_FOLDERS, dir may have folders of such files. Hidden files are
 * ignored. Returns DG_USAGE if dir has another file, and DG_OK if dir is missing. */
dg_err dg_only_ours(const char *dir, const char *const *names, const char *key, const char *value);

/* Returns DG_USAGE with the message of dg_only_ours for the file `name`. */
dg_err dg_refuse_other(const char *dir, const char *name);

/* Returns DG_USAGE if dir has samples of another checkpoint than `origin`. Call dg_only_ours before. */
dg_err dg_only_origin(const char *dir, const char *const *names, const char *origin);
