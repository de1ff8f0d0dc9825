/* What the image files share with each other: kind, orientation, limits, and where decoded rows go. */
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
    bool animated;   /* it has more frames than the one that is read */
    bool profile;    /* it has a colour profile */
} dg_image_head;

/* Own walk over the chunks: every length must fit into the bytes that are left, which also stops libpng 1.6.39
 * from allocating a gigabyte for a 57-byte file. DG_DATA with the reason. */
dg_err dg_png_walk(const uint8_t *file, size_t bytes, dg_image_head *out);
/* Own walk over the marker segments up to the first scan. */
dg_err dg_jpeg_walk(const uint8_t *file, size_t bytes, dg_image_head *out);

/* Grey of (R, G, B). */
static inline uint8_t dg_luma(const uint8_t *rgb)
{
    return (uint8_t)((19595u * rgb[0] + 38470u * rgb[1] + 7471u * rgb[2] + 32768u) >> 16);
}

/* Rows of a file go in; its image comes out, turned as it says, whole or fitted, with the channels that are wanted.
 * Of a whole image each pixel is copied to its place; of a fitted one nothing is kept but what the fitter keeps. */
typedef struct dg_fitter dg_fitter;
typedef struct {
    const dg_decode_options *o;
    const dg_fitting *fitting; /* NULL: the whole image */
    dg_image *out;
    int W, H;     /* of the image, turned */
    unsigned did; /* as in dg_decoded; dg_row_sink_open() and dg_row_sink_put_rgba() note what they do */
    int file_W, file_H, C;
    uint8_t *first;    /* where the file's pixel (0, 0) goes */
    ptrdiff_t x, y;    /* bytes from one pixel, or row, of the file to the next */
    dg_fitter *fitter; /* in the place of these three */
    bool back_x, back_y;
    uint8_t *row[2]; /* (file_W, 4) of scratch each */
} dg_row_sink;
/* For a file of W x H; what the sink holds is freed by close, also when this fails. */
void dg_row_sink_note(dg_row_sink *s, dg_did what, bool done);
dg_err dg_row_sink_open(dg_row_sink *s, int W, int H, int orientation);
/* Row y of the file, 0 to H - 1 or H - 1 to 0, each once: (W, 3), or (W, 4) and as the options want its alpha: kept,
 * ignored or laid over something. */
void dg_row_sink_put(dg_row_sink *s, int y, const uint8_t *rgb);
void dg_row_sink_put_rgba(dg_row_sink *s, int y, const uint8_t *rgba);
/* complete: every row was put; otherwise the image is freed. */
void dg_row_sink_close(dg_row_sink *s, bool complete);

/* An image of W x H whose rows, or when it is turned columns, come one after the other, from either end, as
 * dg_image_fit makes it. */
dg_err dg_fitter_open(dg_fitter **out, int W, int H, int C, bool turned, const dg_fitting *how, dg_image *im);
void dg_fitter_put(dg_fitter *f, int y, const uint8_t *row);
/* complete: all were put. f may be NULL. */
void dg_fitter_close(dg_fitter *f, bool complete);

/* Each into a sink that has options, fitting and out, and is closed by the caller. */
dg_err dg_png_pixels(const uint8_t *file, size_t bytes, dg_row_sink *to);
dg_err dg_jpeg_pixels(const uint8_t *file, size_t bytes, dg_row_sink *to);
dg_err dg_bmp_pixels(const uint8_t *file, size_t bytes, dg_row_sink *to);
dg_err dg_gif_pixels(const uint8_t *file, size_t bytes, dg_row_sink *to);
dg_err dg_webp_pixels(const uint8_t *file, size_t bytes, dg_row_sink *to);
bool dg_webp_alpha(const uint8_t *file, size_t bytes);

/* The orientation tag of a TIFF block (what follows "Exif\0\0" in JPEG, the whole of PNG's eXIf): 1..8, and 1
 * for anything that is damaged or says nothing. */
int dg_exif_orientation(const uint8_t *tiff, size_t bytes);

/* Refuse by size before anything is allocated. work: bytes that the decoder needs beside the sink. */
dg_err dg_image_afford(const char *format, int64_t W, int64_t H, size_t file, uint64_t work, const dg_row_sink *to);

/* A stopwatch of this thread's CPU time, so that a busy machine does not change which images are taken. */
double dg_decode_clock(void);
bool dg_decode_late(double start);
/* Libraries tell lack of memory as damage: is there memory for a second try that needs so much? */
bool dg_memory_left(size_t bytes);

#endif
