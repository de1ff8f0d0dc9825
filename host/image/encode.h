/* PNG and JPEG encoders, and the text chunks of a PNG file. */
#ifndef DG_ENCODE_H
#define DG_ENCODE_H

#include "core/base/file_io.h"
#include "host/image/image.h"

typedef struct {
    const char *key, *value; /* Latin-1 keyword of 1..79 bytes; value */
} dg_text;

/* Write an 8-bit PNG atomically (file_io.h). The same pixels and texts give the same bytes. */
dg_err dg_png_write(const char *path, const dg_image *im, const dg_text *text, int texts);
/* Like dg_png_write, into directory dir; NULL: the path's directory. */
dg_err dg_png_write_in(const dg_directory *dir, const char *path, const dg_image *im, const dg_text *text, int texts);
/* Like dg_png_write, into malloc'd memory. */
dg_err dg_png_encode(const dg_image *im, const dg_text *text, int texts, void **data, size_t *bytes);
/* *data: malloc'd; quality: 1 to 100. The same pixels give the same bytes. */
dg_err dg_jpeg_encode(const dg_image *im, int quality, void **data, size_t *bytes);
/* The tEXt chunks of a PNG file, for `dcgan info`. *text: one malloc'd block, released by free. */
dg_err dg_png_texts(const char *path, dg_text **text, int *texts, int *W, int *H);

#endif
