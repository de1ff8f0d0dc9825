/* Decodes an image file to 8-bit grey, RGB or RGBA, and resizes the image to the size of the network's images. */
#pragma once

#include "core/base/err.h"
#include <stdbool.h>
#include <stdlib.h>
#include "core/base/image_size.h"

typedef struct {
    int W, H, C;
    uint8_t *pixels; /* (H, W, C), malloc'd; free with dg_image_free */
} dg_image;

typedef enum {
    DG_DID_ALPHA, /* some pixels of the file are not opaque */
    DG_DID_TURN,
    DG_DID_HALVE,
    DG_DID_CMYK,
    DG_DID_FRAME,
    DG_DID_PROFILE,
    DG_DID_SCALE, /* a JPEG above the limits was decoded at 1/2, 1/4 or 1/8 of its size */
    DG_DIDS
} dg_did;

typedef enum { DG_ALPHA_DROP, DG_ALPHA_WHITE, DG_ALPHA_BLACK } dg_alpha;
typedef enum { DG_FIT_CROP, DG_FIT_PAD, DG_FIT_STRETCH } dg_fit;
typedef enum { DG_RESIZE_BILINEAR, DG_RESIZE_NEAREST } dg_resize;

typedef struct {
    dg_alpha alpha;
    bool exif;
    bool keep_alpha;   /* return RGBA (C = 4) and ignore `alpha` */
    size_t max_bytes;  /* max file size in bytes; 0 means 64 MiB */
    size_t max_pixels; /* max number of pixels; 0 means 64 Mi; each side has at most 16,384. Larger JPEGs are scaled */
} dg_decode_options;

static inline void dg_image_free(dg_image *im)
{
    free(im->pixels);
    im->pixels = NULL;
    im->W = im->H = im->C = 0;
}

/* Decode a PNG, JPEG, WebP, BMP, TIFF or the first frame of a GIF to RGB or RGBA (C = 3 or 4). The content determines
 * the format. Only the high byte of 16-bit values is kept, like in PIL. DG_DATA: corrupt input, with a short reason
 * such as "empty file". Decoding needs at most 256 MiB and 5 s. Thread-safe. */
dg_err dg_image_decode(const void *data, size_t bytes, const dg_decode_options *o, dg_image *out);

typedef struct {
    dg_size size;
    int channels; /* channels of the result: 1 (grey), 3 (RGB) or 4 (RGBA); overrides keep_alpha */
    dg_fit fit;
    dg_resize resize;
} dg_fitting;

/* The kind of an image file, from its header. */
typedef enum {
    DG_KIND_UNKNOWN,
    DG_KIND_PNG_GREY,
    DG_KIND_PNG_GREY_ALPHA,
    DG_KIND_PNG_RGB,
    DG_KIND_PNG_RGBA,
    DG_KIND_PNG_GREY_16,
    DG_KIND_PNG_GREY_ALPHA_16,
    DG_KIND_PNG_RGB_16,
    DG_KIND_PNG_RGBA_16,
    DG_KIND_PNG_PALETTE,
    DG_KIND_JPEG_GREY,
    DG_KIND_JPEG_COLOUR,
    DG_KIND_JPEG_CMYK,
    DG_KIND_IDX, /* IDX and CIFAR files and NumPy arrays have many images; decoding does not detect them */
    DG_KIND_CIFAR,
    DG_KIND_BMP,
    DG_KIND_GIF,
    DG_KIND_WEBP,
    DG_KIND_WEBP_ALPHA,
    DG_KIND_NPY, /* caches store these numbers, so that new kinds come last */
    DG_KIND_TIFF,
    DG_KIND_TIFF_16,
    DG_KINDS
} dg_kind;

/* W and H are the size of the decoded image before resizing. `did` has bits 1u << dg_did for changes made by
 * decoding. */
typedef struct {
    int W, H;
    unsigned did;
    dg_kind kind;
} dg_decoded;

/* Decode an image, convert it to f->channels, and resize it like dg_image_fit (row by row if possible). */
dg_err dg_image_decode_fitted(const void *data, size_t bytes, const dg_decode_options *o, const dg_fitting *f,
                              dg_image *out, dg_decoded *of);

/* The message for a file that Git LFS left instead of an image. */
#define DG_LFS_POINTER "a Git LFS pointer, not the file itself"

/* True if data (at least 32 bytes) is the beginning of a supported image file. */
bool dg_image_known(const void *data, size_t bytes);

const char *dg_did_name(dg_did d);
const char *dg_kind_name(dg_kind k);

const char *dg_channels_name(int channels);

/* Convert RGB to ITU-R 601 luma in place, like PIL's convert('L'): (19595 R + 38470 G + 7471 B + 32768) >> 16. */
void dg_image_grey(dg_image *im);

/* Resize bilinearly with antialiasing by PIL's algorithm for Image.resize(BILINEAR): two passes in 8-bit fixed
 * point. */
dg_err dg_image_resize(const dg_image *in, int W, int H, dg_image *out);

/* Resize to this size. DG_FIT_CROP: resize to the smallest image that covers the size, then crop at the centre, like
 * torchvision's Resize and CenterCrop. DG_FIT_PAD: resize to the largest image inside of the size, then add black bars.
 * DG_FIT_STRETCH: change the aspect ratio. RGBA colours are weighted by alpha, and transparent pixels become white. */
dg_err dg_image_fit(const dg_image *in, dg_size size, dg_fit fit, dg_resize resize, dg_image *out);
