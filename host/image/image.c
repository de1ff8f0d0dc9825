#include "host/image/image_internal.h"

#include <string.h>

typedef dg_err format(const uint8_t *file, size_t bytes, dg_row_sink *to);

/* Returns NULL for another format. Then *reason becomes advice to the user. */
static format *recognise(const uint8_t *f, size_t bytes, const char **reason)
{
#define HEIF "a HEIC or AVIF image, not supported; convert it: heif-convert FILE FILE.png"
    static const struct {
        size_t at;
        const char *magic;
        size_t length;
        format *format;
        const char *reason;
    } known[] = {
        {0, "\x89PNG\r\n\x1a\n", 8, dg_png_pixels, NULL},
        {0, "\xff\xd8\xff", 3, dg_jpeg_pixels, NULL},
        {0, "GIF87a", 6, dg_gif_pixels, NULL},
        {0, "GIF89a", 6, dg_gif_pixels, NULL},
        {8, "WEBP", 4, dg_webp_pixels, NULL},
        {0, "BM", 2, dg_bmp_pixels, NULL},
        {1, "PNG", 3, NULL, "PNG: damaged signature"},
        {0, "II*\0", 4, dg_tiff_pixels, NULL},
        {0, "MM\0*", 4, dg_tiff_pixels, NULL},
        {0, "II+\0", 4, dg_tiff_pixels, NULL}, /* BigTIFF */
        {0, "MM\0+", 4, dg_tiff_pixels, NULL},
        {4, "ftypavif", 8, NULL, HEIF},
        {4, "ftyphei", 7, NULL, HEIF},
        {4, "ftypmif1", 8, NULL, HEIF},
        {0, "version https://git-lfs.", 24, NULL, DG_LFS_POINTER},
        {0, "PK\3\4", 4, NULL, "a zip archive"}, /* host/data/hints.c has the commands that unpack archives */
        {0, "\x1f\x8b", 2, NULL, "a gzip archive"},
        {0, "BZh", 3, NULL, "a bzip2 archive"},
        {0, "\xfd\x37zXZ", 5, NULL, "an xz archive"},
        {0, "\x28\xb5\x2f\xfd", 4, NULL, "a Zstandard archive"},
        {0, "7z\xbc\xaf\x27\x1c", 6, NULL, "a 7z archive"},
        {0, "Rar!\x1a\7", 6, NULL, "a RAR archive"},
        {257, "ustar", 5, NULL, "a tar archive"},
        {0, "\0\5\x16\7", 4, NULL, "an Apple resource fork, not an image"},
    };
    *reason = bytes ? "neither PNG, JPEG, WebP, BMP, GIF nor TIFF" : "empty file";
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (bytes >= known[i].at + known[i].length && !memcmp(f + known[i].at, known[i].magic, known[i].length)) {
            *reason = known[i].reason;
            if (known[i].format != dg_bmp_pixels || (bytes > 17 && !(f[15] | f[16] | f[17]))) return known[i].format;
            *reason = "BMP: damaged header"; /* not BMP, because a text may begin with BM, too */
        }
    return NULL;
}

bool dg_image_known(const void *data, size_t bytes)
{
    const char *reason;
    return recognise(data, bytes, &reason) != NULL;
}

const char *dg_did_name(dg_did d)
{
    static const char *const name[DG_DIDS] = {
        [DG_DID_ALPHA] = "with transparent pixels",
        [DG_DID_TURN] = "rotated by their EXIF orientation",
        [DG_DID_HALVE] = "with 16 bits, reduced to 8",
        [DG_DID_CMYK] = "converted from CMYK",
        [DG_DID_FRAME] = "with several frames or pages: only the first is used",
        [DG_DID_PROFILE] = "with a colour profile, which is ignored",
        [DG_DID_SCALE] = "too large: decoded at 1/2, 1/4 or 1/8 of their size",
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
        "NumPy array",
        "TIFF",
        "TIFF, 16 bits",
    };
    return (unsigned)k < DG_KINDS ? name[k] : name[0];
}

static dg_err decode(const uint8_t *data, size_t bytes, dg_row_sink *to)
{
    const char *reason;
    format *f = recognise(data, bytes, &reason);
    return f ? f(data, bytes, to) : dg_fail(DG_DATA, "%s", reason);
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
    *of = (dg_decoded){to.W, to.H, to.did, to.kind};
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
