/* One image: file bytes -> 8-bit grey or RGB of the size that the network wants. */
#ifndef DG_IMAGE_H
#define DG_IMAGE_H

#include "core/base/err.h"
#include <stdbool.h>
#include <stdlib.h>
#include "core/base/tensor.h"

typedef struct {
    int W, H, C;     /* C = 1, 3 or 4: RGB and alpha */
    uint8_t *pixels; /* (H, W, C), malloc'd; free with dg_image_free */
} dg_image;

typedef enum {
    DG_DID_ALPHA,   /* a pixel is not opaque: composited, ignored or kept, as the options say */
    DG_DID_TURN,    /* turned or mirrored by its EXIF orientation */
    DG_DID_HALVE,   /* of samples of 16 bits the high byte was taken */
    DG_DID_CMYK,    /* converted from CMYK */
    DG_DID_FRAME,   /* of an animation the first frame alone was taken */
    DG_DID_PROFILE, /* its colour profile was ignored */
    DG_DIDS
} dg_did;

typedef enum { DG_ALPHA_DROP, DG_ALPHA_WHITE, DG_ALPHA_BLACK } dg_alpha;
typedef enum { DG_FIT_CROP, DG_FIT_PAD, DG_FIT_STRETCH } dg_fit;
typedef enum { DG_RESIZE_BILINEAR, DG_RESIZE_NEAREST } dg_resize;

typedef struct {
    dg_alpha alpha;
    bool exif;         /* apply the EXIF orientation */
    bool keep_alpha;   /* C = 4; alpha says nothing then */
    size_t max_bytes;  /* of the file; 0: 64 MiB */
    size_t max_pixels; /* 0: 64 Mi; each side at most 16,384 */
} dg_decode_options;

static inline void dg_image_free(dg_image *im)
{
    free(im->pixels);
    im->pixels = NULL;
    im->W = im->H = im->C = 0;
}

/* PNG, JPEG, WebP, BMP or the first frame of a GIF, recognised by content. Any bit depth and colour type -> C = 3 (the
 * caller turns it to grey with dg_image_grey), or 4. Of 16-bit samples the high byte is taken, as PIL does it, alpha is
 * dropped or composed. Every corrupt, truncated or hostile input is DG_DATA with a reason in a few words ("PNG: IDAT:
 * CRC error"); no input needs more than 256 MiB or 5 s. Thread-safe. */
dg_err dg_image_decode(const void *data, size_t bytes, const dg_decode_options *o, dg_image *out);

/* What a network takes: see dg_image_fit. */
typedef struct {
    int size, channels; /* 1: grey, 3: colour, 4: with alpha, whatever keep_alpha says */
    dg_fit fit;
    dg_resize resize;
} dg_fitting;

/* Of a decoded file: sides of its image, after orientation, and what decoding did: bits 1u << dg_did. */
typedef struct {
    int W, H;
    unsigned did;
} dg_decoded;

/* Decode, dg_image_grey if that is wanted, and dg_image_fit: the same pixels, but row by row where the format allows
 * it, so that an image costs what its result and some rows need, and not what its sides promise. */
dg_err dg_image_decode_fitted(const void *data, size_t bytes, const dg_decode_options *o, const dg_fitting *f,
                              dg_image *out, dg_decoded *of);

/* Whether the first bytes (32 are enough) are those of such a file. */
bool dg_image_known(const void *data, size_t bytes);

/* What kind of image a file holds, by its header; DG_KIND_UNKNOWN if it is none or damaged. */
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
    DG_KIND_IDX, /* these two never by dg_image_kind: files of many images */
    DG_KIND_CIFAR,
    DG_KIND_BMP,
    DG_KIND_GIF,
    DG_KIND_WEBP,
    DG_KIND_WEBP_ALPHA,
    DG_KINDS
} dg_kind;
dg_kind dg_image_kind(const void *data, size_t bytes);
const char *dg_did_name(dg_did d);   /* "with transparent pixels" */
const char *dg_kind_name(dg_kind k); /* "PNG RGB with alpha" */

const char *dg_channels_name(int channels); /* "grey", "colour", "colour with alpha" */

/* ITU-R 601 luma as PIL's convert('L'): (19595 R + 38470 G + 7471 B + 32768) >> 16. In place. */
void dg_image_grey(dg_image *im);

/* Antialiased bilinear resize, the two-pass 8-bit fixed-point algorithm of PIL (Image.resize(BILINEAR)). */
dg_err dg_image_resize(const dg_image *in, int W, int H, dg_image *out);

/* To size x size: crop = shorter side to size, then centre crop (torchvision's Resize + CenterCrop); pad =
 * longer side to size, black bars; stretch = both sides. Nearest, as PIL has it: of pixel art, whose edges stay. Of
 * four channels colours count as much as they are opaque, and what is transparent is white. */
dg_err dg_image_fit(const dg_image *in, int size, dg_fit fit, dg_resize resize, dg_image *out);

#endif
