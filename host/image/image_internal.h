/* What the picture files share with each other: kind, orientation, limits, and where decoded rows go. */
#ifndef DG_IMAGE_INTERNAL_H
#define DG_IMAGE_INTERNAL_H

#include "host/image/image.h"

enum { DG_SIDE_MAX = 16384, DG_SCANS_MAX = 100 };

/* A byte of each chunk or marker of the file, read by our own bounds-checked walk before a library sees it. */
typedef struct {
    int W, H;
    int components, bits;
    bool palette, interlaced;
    int orientation; /* EXIF, 1..8 */
} dg_image_head;

/* Own walk over the chunks: every length must fit into the bytes that are left, which also stops libpng 1.6.39
 * from allocating a gigabyte for a 57-byte file. DG_DATA with the reason. */
dg_err dg_png_walk(const uint8_t *file, size_t bytes, dg_image_head *out);
/* Own walk over the marker segments up to the first scan. */
dg_err dg_jpeg_walk(const uint8_t *file, size_t bytes, dg_image_head *out);

dg_err dg_png_pixels(const uint8_t *file, size_t bytes, const dg_decode_options *o, dg_image *out);
dg_err dg_jpeg_pixels(const uint8_t *file, size_t bytes, const dg_decode_options *o, dg_image *out);

dg_err dg_bmp_pixels(const uint8_t *file, size_t bytes, const dg_decode_options *o, dg_image *out);
dg_err dg_gif_pixels(const uint8_t *file, size_t bytes, const dg_decode_options *o, dg_image *out);
dg_err dg_webp_pixels(const uint8_t *file, size_t bytes, const dg_decode_options *o, dg_image *out);
bool dg_webp_alpha(const uint8_t *file, size_t bytes);

/* The orientation tag of a TIFF block (what follows "Exif\0\0" in JPEG, the whole of PNG's eXIf): 1..8, and 1
 * for anything that is damaged or says nothing. */
int dg_exif_orientation(const uint8_t *tiff, size_t bytes);

/* Refuse by size before anything is allocated. work: bytes that the decoder needs beside the result. */
dg_err dg_image_afford(const char *format, int64_t W, int64_t H, size_t file, uint64_t work,
                       const dg_decode_options *o);

/* Rows of the file in, oriented picture out: one copy, so turning a picture needs no second one. */
typedef struct {
    uint8_t *first; /* where the file's pixel (0, 0) goes */
    ptrdiff_t x, y; /* bytes from one pixel, or row, of the file to the next */
    int W, C;
} dg_row_sink;
/* out is set and its pixels allocated, W and H exchanged for orientations 5 to 8. */
dg_err dg_row_sink_open(dg_row_sink *s, int W, int H, int C, int orientation, dg_image *out);
void dg_row_sink_put(const dg_row_sink *s, int y, const uint8_t *pixels);

/* A row with alpha, as o wants it: kept, ignored or laid over something. rgb: 3 W bytes of scratch. */
void dg_row_sink_put_rgba(const dg_row_sink *s, int y, const uint8_t *rgba, const dg_decode_options *o, uint8_t *rgb);

/* A stopwatch of this thread's CPU time, so that a busy machine does not change which pictures are taken. */
double dg_decode_clock(void);
bool dg_decode_late(double start);

#endif
