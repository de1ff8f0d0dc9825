/* Shared by the image decoders: header fields, orientation, limits, and the sink for decoded rows. */
#ifndef DG_IMAGE_INTERNAL_H
#define DG_IMAGE_INTERNAL_H

#include "host/image/image.h"

enum { DG_SIDE_MAX = 16384, DG_SCANS_MAX = 100 };

/* Header fields, read by bounds-checked code of this program before a library reads the file. */
typedef struct {
    int W, H;
    int components, bits;
    bool palette, interlaced;
    int orientation;
    bool animated;
    bool profile;
} dg_image_head;

/* Walk over the chunks: every length must fit into the remaining bytes, which also prevents libpng 1.6.39 from
 * allocating 1 GB for a 57-byte file. DG_DATA with the reason. */
dg_err dg_png_walk(const uint8_t *file, size_t bytes, dg_image_head *out);
/* Walk over the marker segments up to the first scan. */
dg_err dg_jpeg_walk(const uint8_t *file, size_t bytes, dg_image_head *out);

static inline uint8_t dg_luma(const uint8_t *rgb)
{
    return (uint8_t)((19595u * rgb[0] + 38470u * rgb[1] + 7471u * rgb[2] + 32768u) >> 16);
}

/* The sink of a decoder: receives rows in file order and writes the image, oriented, with the requested channels, in
 * full size or resized. For a resized image only some rows are in memory. */
typedef struct dg_fitter dg_fitter;
typedef struct {
    const dg_decode_options *o;
    const dg_fitting *fitting;
    dg_image *out;
    int W, H;
    unsigned did; /* see dg_decoded; set by dg_row_sink_open() and dg_row_sink_put_rgba() */
    int file_W, file_H, C;
    uint8_t *first;    /* destination of the file's pixel (0, 0) */
    ptrdiff_t x, y;    /* bytes in the destination between adjacent pixels of a file's row, and between its rows */
    dg_fitter *fitter; /* resizes the rows; NULL: they are written by first, x and y */
    bool back_x, back_y;
    uint8_t *row[2]; /* scratch, (file_W, 4) each */
} dg_row_sink;
void dg_row_sink_note(dg_row_sink *s, dg_did what, bool done);
dg_err dg_row_sink_open(dg_row_sink *s, int W, int H, int orientation);
/* Write row y of the file to the sink. Rows come once each, in ascending or descending order. A row is (W, 3) or (W,
 * 4). Alpha is kept, ignored or composited according to the options. */
void dg_row_sink_put(dg_row_sink *s, int y, const uint8_t *rgb);
void dg_row_sink_put_rgba(dg_row_sink *s, int y, const uint8_t *rgba);
/* complete: all rows were written; if false, the image is freed. */
void dg_row_sink_close(dg_row_sink *s, bool complete);

/* Start dg_image_fit for a W x H image whose rows (turned: columns) arrive one by one, in either order. */
dg_err dg_fitter_open(dg_fitter **out, int W, int H, int C, bool turned, const dg_fitting *how, dg_image *im);
void dg_fitter_put(dg_fitter *f, int y, const uint8_t *row);
void dg_fitter_close(dg_fitter *f, bool complete);

/* Decode into a sink with options, fitting and out set. The caller closes the sink. */
dg_err dg_png_pixels(const uint8_t *file, size_t bytes, dg_row_sink *to);
dg_err dg_jpeg_pixels(const uint8_t *file, size_t bytes, dg_row_sink *to);
dg_err dg_bmp_pixels(const uint8_t *file, size_t bytes, dg_row_sink *to);
dg_err dg_gif_pixels(const uint8_t *file, size_t bytes, dg_row_sink *to);
dg_err dg_webp_pixels(const uint8_t *file, size_t bytes, dg_row_sink *to);
bool dg_webp_alpha(const uint8_t *file, size_t bytes);

/* Orientation of a TIFF block (after "Exif\0\0" in JPEG, the whole of PNG's eXIf): 1..8; 1 if damaged or missing. */
int dg_exif_orientation(const uint8_t *tiff, size_t bytes);

/* Refuse oversized images before any allocation. work: bytes that the decoder needs in addition to the sink. */
dg_err dg_image_afford(const char *format, int64_t W, int64_t H, size_t file, uint64_t work, const dg_row_sink *to);

/* Measures this thread's CPU time, so that the load of the machine does not decide which images are accepted. */
double dg_decode_clock(void);
bool dg_decode_late(double start);
/* True if malloc(bytes) succeeds. Libraries report lack of memory as damage; a second attempt may then succeed. */
bool dg_memory_left(size_t bytes);

#endif
