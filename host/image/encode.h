/* Images as PNG and JPEG files, and the texts of a PNG. */
#ifndef DG_ENCODE_H
#define DG_ENCODE_H

#include "core/base/file_io.h"
#include "host/image/image.h"

typedef struct {
    const char *key, *value; /* Latin-1 keyword of 1..79 bytes, value */
} dg_text;

/* 8-bit PNG, written whole or not at all (file_io.h). The same pixels and texts give the same bytes. */
dg_err dg_png_write(const char *path, const dg_image *im, const dg_text *text, int texts);
/* Into this directory (file_io.h); dir = NULL: the one that the path names. */
dg_err dg_png_write_in(const dg_directory *dir, const char *path, const dg_image *im, const dg_text *text, int texts);
/* Encode into memory: *data malloc'd. */
dg_err dg_png_encode(const dg_image *im, const dg_text *text, int texts, void **data, size_t *bytes);
/* JPEG into memory: *data malloc'd; quality 1 to 100. The same pixels give the same bytes. */
dg_err dg_jpeg_encode(const dg_image *im, int quality, void **data, size_t *bytes);
/* The tEXt chunks of a PNG file: *text malloc'd (one block, freed with free). For `dcgan info`. */
dg_err dg_png_texts(const char *path, dg_text **text, int *texts, int *W, int *H);

#endif
