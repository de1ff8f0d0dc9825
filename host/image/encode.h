/* Encodes PNG and JPEG images, and reads the text chunks of a PNG file. */
#pragma once

#include "core/base/file_io.h"
#include "host/image/image.h"

typedef struct {
    const char *key, *value; /* key: PNG keyword of 1 to 79 Latin-1 bytes */
} dg_text;

/* Write an 8-bit PNG atomically. Equal pixels and texts give equal bytes. */
dg_err dg_png_write(const char *path, const dg_image *im, const dg_text *text, int texts);
/* Like dg_png_write, but into directory dir if dir is not NULL. */
dg_err dg_png_write_in(const dg_directory *dir, const char *path, const dg_image *im, const dg_text *text, int texts);
/* Like dg_png_write, but into malloc'd memory. */
dg_err dg_png_encode(const dg_image *im, const dg_text *text, int texts, void **data, size_t *bytes);
/* Encode a JPEG into malloc'd memory. `quality` is 1 to 100. Equal pixels give equal bytes. */
dg_err dg_jpeg_encode(const dg_image *im, int quality, void **data, size_t *bytes);
/* Read the tEXt and uncompressed iTXt chunks of a PNG file as UTF-8 into *text, a single malloc'd block. */
dg_err dg_png_texts(const char *path, dg_text **text, int *texts, int *W, int *H);
