/* Internal functions of the image decoders: headers, orientation, limits, and the sink for decoded rows. */
#pragma once

#include "host/image/image.h"

enum { DG_SIDE_MAX = 16384, DG_SCANS_MAX = 100 };

/* Header fields of an image, which dcgan checks before an image library reads the file. */
typedef struct {
    int W, H;
    int components, bits;
    bool palette, interlaced;
    int orientation;
    bool animated;
    bool profile;
} dg_image_head;

/* Read the chunk headers of a PNG, and check all lengths, because libpng 1.6.39 allocates 1 GB for some 57-byte
 * files. */
dg_err dg_png_walk(const uint8_t *file, size_t bytes, dg_image_head *out);
/* Read the marker segments of a JPEG up to the first scan. */
dg_err dg_jpeg_walk(const uint8_t *file, size_t bytes, dg_image_head *out);

static inline uint8_t dg_luma(const uint8_t *rgb)
{
    return (uint8_t)((19595u * rgb[0] + 38470u * rgb[1] + 7471u * rgb[2] + 32768u) >> 16);
}

/* A row sink receives decoded rows in file order, and writes an image with the right orientation and channels. The
 * image is resized or has its full size. For a resized image, the sink stores only some of the rows in memory. */
typedef struct dg_fitter dg_fitter;
typedef struct {
    const dg_decode_options *o;
    const dg_fitting *fitting;
    dg_image *out;
    int W, H;
    dg_kind kind;
    unsigned did; /* changes made by decoding, as bits 1u << dg_did */
    int file_W, file_H, C;
    uint8_t *first;    /* address in `out` of the file's pixel (0, 0) */
    ptrdiff_t x, y;    /* strides in `out`, in bytes: between pixels of a file row, and between file rows */
    dg_fitter *fitter; /* resizes the rows; NULL without resizing */
    bool back_x, back_y;
    uint8_t *row[2]; /* scratch, (file_W, 4) each */
} dg_row_sink;
void dg_row_sink_note(dg_row_sink *s, dg_did what, bool done);
dg_err dg_row_sink_open(dg_row_sink *s, int W, int H, int orientation);
/* Write row y of the file, (W, 3) or (W, 4), to the sink. Call once per row, in ascending or descending order. */
void dg_row_sink_put(dg_row_sink *s, int y, const uint8_t *rgb);
void dg_row_sink_put_rgba(dg_row_sink *s, int y, const uint8_t *rgba);
/* The image is freed unless `complete` is true, which means that all rows were written. */
void dg_row_sink_close(dg_row_sink *s, bool complete);

/* Start to resize a W x H image like dg_image_fit. The caller passes rows or, if `turned` is set, columns. */
dg_err dg_fitter_open(dg_fitter **out, int W, int H, int C, bool turned, const dg_fitting *how, dg_image *im);
void dg_fitter_put(dg_fitter *f, int y, const uint8_t *row);
void dg_fitter_close(dg_fitter *f, bool complete);

/* Decode a file into a row sink. The caller first sets options, fitting and out in the sink, and finally closes the
 * sink. */
dg_err dg_png_pixels(const uint8_t *file, size_t bytes, dg_row_sink *to);
dg_err dg_jpeg_pixels(const uint8_t *file, size_t bytes, dg_row_sink *to);
dg_err dg_bmp_pixels(const uint8_t *file, size_t bytes, dg_row_sink *to);
dg_err dg_gif_pixels(const uint8_t *file, size_t bytes, dg_row_sink *to);
dg_err dg_webp_pixels(const uint8_t *file, size_t bytes, dg_row_sink *to);
dg_err dg_tiff_pixels(const uint8_t *file, size_t bytes, dg_row_sink *to);

/* Returns the orientation (1 to 8) in a TIFF block of a JPEG or PNG file, or 1 if damaged or missing. */
int dg_exif_orientation(const uint8_t *tiff, size_t bytes);

size_t dg_image_pixels_max(const dg_row_sink *to);
/* Returns an error for a too large image, before memory is allocated. `work` is the number of bytes that the decoder
 * needs in addition to the sink. */
dg_err dg_image_afford(const char *format, int64_t W, int64_t H, size_t file, uint64_t work, const dg_row_sink *to);

/* Returns the CPU time of the thread in seconds, which does not depend on other load of the machine. */
double dg_decode_clock(void);
bool dg_decode_late(double start);
/* True if malloc(bytes) succeeds. Image libraries may report lack of memory as a damaged image. */
bool dg_memory_left(size_t bytes);
