/* One image: file bytes -> 8-bit grey or RGB of the network's size. */
#ifndef DG_IMAGE_H
#define DG_IMAGE_H

#include "core/base/err.h"
#include <stdbool.h>
#include <stdlib.h>
#include "core/base/tensor.h"

typedef struct {
    int W, H, C;
    uint8_t *pixels; /* (H, W, C), malloc'd; free with dg_image_free */
} dg_image;

typedef enum {
    DG_DID_ALPHA, /* some pixels are not opaque; handled according to the options */
    DG_DID_TURN,
    DG_DID_HALVE,
    DG_DID_CMYK,
    DG_DID_FRAME,
    DG_DID_PROFILE,
    DG_DIDS
} dg_did;

typedef enum { DG_ALPHA_DROP, DG_ALPHA_WHITE, DG_ALPHA_BLACK } dg_alpha;
typedef enum { DG_FIT_CROP, DG_FIT_PAD, DG_FIT_STRETCH } dg_fit;
typedef enum { DG_RESIZE_BILINEAR, DG_RESIZE_NEAREST } dg_resize;

typedef struct {
    dg_alpha alpha;
    bool exif;
    bool keep_alpha;   /* return C = 4 and ignore `alpha` */
    size_t max_bytes;  /* maximum bytes of the file; 0: 64 MiB */
    size_t max_pixels; /* maximum pixels, 0: 64 Mi; each side at most 16,384 */
} dg_decode_options;

static inline void dg_image_free(dg_image *im)
{
    free(im->pixels);
    im->pixels = NULL;
    im->W = im->H = im->C = 0;
}

/* Decode a PNG, JPEG, WebP, BMP or the first frame of a GIF, detected by content. Any bit depth and colour type -> C =
 * 3 or 4; 16-bit samples are reduced to their high byte, like in PIL. For corrupt or truncated input, returns DG_DATA
 * with a short reason, such as "empty file". Any input costs at most 256 MiB and 5 s. Thread-safe. */
dg_err dg_image_decode(const void *data, size_t bytes, const dg_decode_options *o, dg_image *out);

typedef struct {
    int size, channels; /* channels of the result: 1 (grey), 3 (colour) or 4 (with alpha); keep_alpha is ignored */
    dg_fit fit;
    dg_resize resize;
} dg_fitting;

/* Size of the image in the file after orientation; did: what decoding changed, bits 1u << dg_did. */
typedef struct {
    int W, H;
    unsigned did;
} dg_decoded;

/* Decode, convert to grey if channels is 1, and resize to the same pixels as dg_image_fit. If the format allows it,
 * rows are processed one by one, and only the result and some rows are in memory. */
dg_err dg_image_decode_fitted(const void *data, size_t bytes, const dg_decode_options *o, const dg_fitting *f,
                              dg_image *out, dg_decoded *of);

/* True if the first bytes (at least 32) are the beginning of a supported image file. */
bool dg_image_known(const void *data, size_t bytes);

/* Kind of image by the header; DG_KIND_UNKNOWN if unsupported or damaged. */
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
    DG_KIND_IDX, /* files of many images, which dg_image_kind never returns */
    DG_KIND_CIFAR,
    DG_KIND_BMP,
    DG_KIND_GIF,
    DG_KIND_WEBP,
    DG_KIND_WEBP_ALPHA,
    DG_KINDS
} dg_kind;
dg_kind dg_image_kind(const void *data, size_t bytes);
const char *dg_did_name(dg_did d);
const char *dg_kind_name(dg_kind k);

const char *dg_channels_name(int channels);

/* ITU-R 601 luma like PIL's convert('L'): (19595 R + 38470 G + 7471 B + 32768) >> 16. In place. */
void dg_image_grey(dg_image *im);

/* Antialiased bilinear resize, PIL's two-pass 8-bit fixed-point algorithm (Image.resize(BILINEAR)). */
dg_err dg_image_resize(const dg_image *in, int W, int H, dg_image *out);

/* Resize to size x size. crop: shorter side to size, then centre crop (torchvision's Resize + CenterCrop); pad: longer
 * side to size, black bars; stretch: both sides. Nearest-neighbour resizing equals PIL's and keeps the edges of pixel
 * art. With C = 4 colours are weighted by alpha, and transparent pixels are white. */
dg_err dg_image_fit(const dg_image *in, int size, dg_fit fit, dg_resize resize, dg_image *out);

#endif
