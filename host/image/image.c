#include "host/image/image_internal.h"

#include <string.h>

typedef struct {
    dg_err (*pixels)(const uint8_t *file, size_t bytes, dg_row_sink *to);
    dg_kind (*kind)(const uint8_t *file, size_t bytes);
} format;

static dg_kind png_kind(const uint8_t *file, size_t bytes)
{
    dg_image_head h;
    if (dg_png_walk(file, bytes, &h)) return DG_KIND_UNKNOWN;
    if (h.palette) return DG_KIND_PNG_PALETTE;
    return (dg_kind)((h.bits == 16 ? DG_KIND_PNG_GREY_16 : DG_KIND_PNG_GREY) + h.components - 1);
}

static dg_kind jpeg_kind(const uint8_t *file, size_t bytes)
{
    dg_image_head h;
    if (dg_jpeg_walk(file, bytes, &h)) return DG_KIND_UNKNOWN;
    return h.components == 1 ? DG_KIND_JPEG_GREY : h.components == 4 ? DG_KIND_JPEG_CMYK : DG_KIND_JPEG_COLOUR;
}

static dg_kind bmp_kind(const uint8_t *file, size_t bytes)
{
    (void)file, (void)bytes;
    return DG_KIND_BMP;
}

static dg_kind gif_kind(const uint8_t *file, size_t bytes)
{
    (void)file, (void)bytes;
    return DG_KIND_GIF;
}

static dg_kind webp_kind(const uint8_t *file, size_t bytes)
{
    return dg_webp_alpha(file, bytes) ? DG_KIND_WEBP_ALPHA : DG_KIND_WEBP;
}

static const format png = {dg_png_pixels, png_kind}, jpeg = {dg_jpeg_pixels, jpeg_kind},
                    bmp = {dg_bmp_pixels, bmp_kind}, gif = {dg_gif_pixels, gif_kind},
                    webp = {dg_webp_pixels, webp_kind};

/* Returns NULL for another format. Then *reason becomes advice to the user. */
static const format *recognise(const uint8_t *f, size_t bytes, const char **reason)
{
#define HEIF "a HEIC or AVIF image, not supported; convert it: heif-convert FILE FILE.png"
#define TIFF "a TIFF image, not supported; convert it: tifftopnm FILE | pnmtopng > FILE.png, or magick FILE FILE.png"
    static const struct {
        size_t at;
        const char *magic;
        size_t length;
        const format *format;
        const char *reason;
    } known[] = {
        {0, "\x89PNG\r\n\x1a\n", 8, &png, NULL},
        {0, "\xff\xd8\xff", 3, &jpeg, NULL},
        {0, "GIF87a", 6, &gif, NULL},
        {0, "GIF89a", 6, &gif, NULL},
        {8, "WEBP", 4, &webp, NULL},
        {0, "BM", 2, &bmp, NULL},
        {1, "PNG", 3, NULL, "PNG: damaged signature"},
        {0, "II*\0", 4, NULL, TIFF},
        {0, "MM\0*", 4, NULL, TIFF},
        {4, "ftypavif", 8, NULL, HEIF},
        {4, "ftyphei", 7, NULL, HEIF},
        {4, "ftypmif1", 8, NULL, HEIF},
        {0, "\0\5\x16\7", 4, NULL, "an Apple resource fork, not an image"},
    };
    *reason = bytes ? "neither PNG, JPEG, WebP, BMP nor GIF" : "empty file";
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (bytes >= known[i].at + known[i].length && !memcmp(f + known[i].at, known[i].magic, known[i].length)) {
            *reason = known[i].reason;
            if (known[i].format != &bmp || (bytes > 17 && !(f[15] | f[16] | f[17]))) return known[i].format;
            *reason = "BMP: damaged header"; /* not BMP, because a text may begin with BM, too */
        }
    return NULL;
}

bool dg_image_known(const void *data, size_t bytes)
{
    const char *reason;
    return recognise(data, bytes, &reason) != NULL;
}

dg_kind dg_image_kind(const void *data, size_t bytes)
{
    const char *reason;
    const format *f = recognise(data, bytes, &reason);
    return f ? f->kind(data, bytes) : DG_KIND_UNKNOWN;
}

const char *dg_did_name(dg_did d)
{
    static const char *const name[DG_DIDS] = {
        [DG_DID_ALPHA] = "with transparent pixels",
        [DG_DID_TURN] = "rotated by their EXIF orientation",
        [DG_DID_HALVE] = "with 16 bits, reduced to 8",
        [DG_DID_CMYK] = "converted from CMYK",
        [DG_DID_FRAME] = "animated: only the first frame is used",
        [DG_DID_PROFILE] = "with a colour profile, which is ignored",
    };
    return name[d];
}

const char *dg_kind_name(dg_kind k)
{
    static const char *const name[DG_KINDS] = {
        "unknown",
        "PNG grey",
        "PNG grey with alpha",
        "PNG RGB",
        "PNG RGB with alpha",
        "PNG grey, 16 bits",
        "PNG grey with alpha, 16 bits",
        "PNG RGB, 16 bits",
        "PNG RGB with alpha, 16 bits",
        "PNG palette",
        "JPEG grey",
        "JPEG colour",
        "JPEG CMYK",
        "IDX grey",
        "CIFAR RGB",
        "BMP",
        "GIF",
        "WebP",
        "WebP with alpha",
    };
    return (unsigned)k < DG_KINDS ? name[k] : name[0];
}

static dg_err decode(const uint8_t *data, size_t bytes, dg_row_sink *to)
{
    const char *reason;
    const format *f = recognise(data, bytes, &reason);
    return f ? f->pixels(data, bytes, to) : dg_fail(DG_DATA, "%s", reason);
}

static dg_err decode_to(const void *data, size_t bytes, dg_row_sink *to)
{
    *to->out = (dg_image){0};
    const size_t most = to->o->max_bytes ? to->o->max_bytes : (size_t)64 << 20;
    if (bytes > most) return dg_fail(DG_DATA, "a file of %zu bytes, the limit is %zu", bytes, most);
    const dg_err e = decode(data, bytes, to);
    dg_row_sink_close(to, !e);
    return e;
}

dg_err dg_image_decode(const void *data, size_t bytes, const dg_decode_options *o, dg_image *out)
{
    return decode_to(data, bytes, &(dg_row_sink){.o = o, .out = out});
}

dg_err dg_image_decode_fitted(const void *data, size_t bytes, const dg_decode_options *o, const dg_fitting *f,
                              dg_image *out, dg_decoded *of)
{
    dg_decode_options how = *o;
    how.keep_alpha = f->channels == 4;
    dg_row_sink to = {.o = &how, .fitting = f, .out = out};
    const dg_err e = decode_to(data, bytes, &to);
    *of = (dg_decoded){to.W, to.H, to.did};
    return e;
}

const char *dg_channels_name(int channels)
{
    return channels == 1 ? "grey" : channels == 3 ? "colour" : "colour with alpha";
}

void dg_image_grey(dg_image *im)
{
    if (im->C != 3) return;
    size_t n = (size_t)im->W * (size_t)im->H;
    for (size_t i = 0; i < n; i++) im->pixels[i] = dg_luma(im->pixels + 3 * i);
    im->C = 1;
}
