#include "host/image/image_internal.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* What one decode may use in all, the file included: under 256 million bytes with the libraries' own. */
static const uint64_t budget = (uint64_t)240 << 20;
static const double seconds_max = 5;

void dg_image_free(dg_image *im)
{
    free(im->pixels);
    *im = (dg_image){0};
}

double dg_decode_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

bool dg_decode_late(double start) { return dg_decode_clock() - start > seconds_max; }

dg_err dg_image_afford(const char *format, int64_t W, int64_t H, size_t file, uint64_t work, const dg_decode_options *o)
{
    uint64_t most = o->max_pixels ? o->max_pixels : (uint64_t)64 << 20;
    if (W < 1 || H < 1) return dg_fail(DG_DATA, "%s: no pixels (%lld x %lld)", format, (long long)W, (long long)H);
    if (W > DG_SIDE_MAX || H > DG_SIDE_MAX)
        return dg_fail(DG_DATA, "%s: %lld x %lld pixels, a side may have %d", format, (long long)W, (long long)H,
                       DG_SIDE_MAX);
    uint64_t pixels = (uint64_t)W * (uint64_t)H;
    if (pixels > most)
        return dg_fail(DG_DATA, "%s: %lld x %lld pixels, the limit is %llu in all", format, (long long)W, (long long)H,
                       (unsigned long long)most);
    uint64_t need = (o->keep_alpha ? 7u : 3u) * pixels + work + file;
    if (need > budget)
        return dg_fail(DG_DATA, "%s: %lld x %lld would need %llu MiB to decode, the limit is %llu", format,
                       (long long)W, (long long)H, (unsigned long long)(need >> 20),
                       (unsigned long long)(budget >> 20));
    return DG_OK;
}

dg_err dg_row_sink_open(dg_row_sink *s, int W, int H, int C, int orientation, dg_image *out)
{
    bool turned = orientation >= 5; /* rows become columns */
    bool back_x = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
    bool back_y = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
    *out = (dg_image){.W = turned ? H : W, .H = turned ? W : H, .C = C};
    out->pixels = malloc((size_t)C * (size_t)W * (size_t)H);
    if (!out->pixels) return dg_fail(DG_DEVICE, "no memory for a picture of %d x %d", W, H);

    ptrdiff_t row = C * (ptrdiff_t)out->W;
    s->x = turned ? row : C;
    s->y = turned ? C : row;
    s->first = out->pixels;
    if (back_x) s->first += s->x * (W - 1), s->x = -s->x;
    if (back_y) s->first += s->y * (H - 1), s->y = -s->y;
    s->W = W;
    s->C = C;
    return DG_OK;
}

void dg_row_sink_put(const dg_row_sink *s, int y, const uint8_t *pixels)
{
    uint8_t *to = s->first + s->y * y;
    if (s->x == s->C) {
        memcpy(to, pixels, (size_t)s->C * (size_t)s->W);
        return;
    }
    for (ptrdiff_t x = 0; x < s->W; x++)
        for (ptrdiff_t c = 0; c < s->C; c++) to[s->x * x + c] = pixels[s->C * x + c];
}

/* Over a background: round((c a + background (255 - a)) / 255). */
void dg_row_sink_put_rgba(const dg_row_sink *s, int y, const uint8_t *rgba, const dg_decode_options *o, uint8_t *rgb)
{
    const unsigned background = o->alpha == DG_ALPHA_WHITE ? 255 : 0;
    for (size_t x = 0; x < (size_t)s->W && s->C == 3; x++) {
        const unsigned a = o->alpha == DG_ALPHA_DROP ? 255 : rgba[4 * x + 3];
        for (size_t c = 0; c < 3; c++) {
            const unsigned v = rgba[4 * x + c] * a + background * (255 - a) + 128;
            rgb[3 * x + c] = (uint8_t)((v + (v >> 8)) >> 8);
        }
    }
    dg_row_sink_put(s, y, s->C == 3 ? rgb : rgba);
}

/* A picture without alpha is opaque. */
static dg_err add_alpha(dg_image *im)
{
    const size_t n = (size_t)im->W * (size_t)im->H;
    uint8_t *to = malloc(4 * n);
    if (!to) {
        const dg_err e = dg_fail(DG_DEVICE, "no memory for a picture of %d x %d", im->W, im->H);
        dg_image_free(im);
        return e;
    }
    for (size_t i = 0; i < n; i++) {
        memcpy(to + 4 * i, im->pixels + 3 * i, 3);
        to[4 * i + 3] = 255;
    }
    free(im->pixels);
    im->pixels = to;
    im->C = 4;
    return DG_OK;
}

typedef enum { NEITHER, PNG, JPEG, BMP, GIF, WEBP } format;

/* By content; for what is none, the reason as a text that helps. */
static format recognise(const uint8_t *f, size_t bytes, const char **reason)
{
#define HEIF "a HEIC or AVIF picture, which is not read: heif-convert FILE FILE.png converts it"
#define TIFF \
    "a TIFF picture, which is not read: tifftopnm FILE | pnmtopng > FILE.png, or magick FILE FILE.png, converts it"
    static const struct {
        size_t at;
        const char *magic;
        size_t length;
        format format;
        const char *reason;
    } known[] = {
        {0, "\x89PNG\r\n\x1a\n", 8, PNG, NULL},
        {0, "\xff\xd8\xff", 3, JPEG, NULL},
        {0, "GIF87a", 6, GIF, NULL},
        {0, "GIF89a", 6, GIF, NULL},
        {8, "WEBP", 4, WEBP, NULL},
        {0, "BM", 2, BMP, NULL},
        {1, "PNG", 3, NEITHER, "PNG: damaged signature"},
        {0, "II*\0", 4, NEITHER, TIFF},
        {0, "MM\0*", 4, NEITHER, TIFF},
        {4, "ftypavif", 8, NEITHER, HEIF},
        {4, "ftyphei", 7, NEITHER, HEIF},
        {4, "ftypmif1", 8, NEITHER, HEIF},
        {0, "\0\5\x16\7", 4, NEITHER, "an Apple resource fork, no picture"},
    };
    *reason = bytes ? "neither PNG, JPEG, WebP, BMP nor GIF" : "empty file";
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (bytes >= known[i].at + known[i].length && !memcmp(f + known[i].at, known[i].magic, known[i].length)) {
            *reason = known[i].reason;
            if (known[i].format != BMP || (bytes > 17 && !(f[15] | f[16] | f[17]))) return known[i].format;
            *reason = "BMP: damaged header"; /* or a text that begins with these two letters */
        }
    return NEITHER;
}

bool dg_image_known(const void *data, size_t bytes)
{
    const char *reason;
    return recognise(data, bytes, &reason) != NEITHER;
}

dg_kind dg_image_kind(const void *data, size_t bytes)
{
    dg_image_head h;
    const char *reason;
    switch (recognise(data, bytes, &reason)) {
    case PNG:
        if (dg_png_walk(data, bytes, &h)) return DG_KIND_UNKNOWN;
        if (h.palette) return DG_KIND_PNG_PALETTE;
        return (dg_kind)((h.bits == 16 ? DG_KIND_PNG_GREY_16 : DG_KIND_PNG_GREY) + h.components - 1);
    case JPEG:
        if (dg_jpeg_walk(data, bytes, &h)) return DG_KIND_UNKNOWN;
        return h.components == 1 ? DG_KIND_JPEG_GREY : h.components == 4 ? DG_KIND_JPEG_CMYK : DG_KIND_JPEG_COLOUR;
    case BMP: return DG_KIND_BMP;
    case GIF: return DG_KIND_GIF;
    case WEBP: return dg_webp_alpha(data, bytes) ? DG_KIND_WEBP_ALPHA : DG_KIND_WEBP;
    case NEITHER: break;
    }
    return DG_KIND_UNKNOWN;
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

static dg_err decode(const uint8_t *data, size_t bytes, const dg_decode_options *o, dg_image *out)
{
    const char *reason;
    switch (recognise(data, bytes, &reason)) {
    case PNG: return dg_png_pixels(data, bytes, o, out);
    case JPEG: return dg_jpeg_pixels(data, bytes, o, out);
    case BMP: return dg_bmp_pixels(data, bytes, o, out);
    case GIF: return dg_gif_pixels(data, bytes, o, out);
    case WEBP: return dg_webp_pixels(data, bytes, o, out);
    case NEITHER: break;
    }
    return dg_fail(DG_DATA, "%s", reason);
}

dg_err dg_image_decode(const void *data, size_t bytes, const dg_decode_options *o, dg_image *out)
{
    *out = (dg_image){0};
    size_t most = o->max_bytes ? o->max_bytes : (size_t)64 << 20;
    if (bytes > most) return dg_fail(DG_DATA, "a file of %zu bytes, the limit is %zu", bytes, most);
    const dg_err e = decode(data, bytes, o, out);
    return !e && o->keep_alpha && out->C == 3 ? add_alpha(out) : e;
}

const char *dg_channels_name(int channels)
{
    return channels == 1 ? "grey" : channels == 3 ? "colour" : "colour with alpha";
}

void dg_image_grey(dg_image *im)
{
    if (im->C != 3) return;
    size_t n = (size_t)im->W * (size_t)im->H;
    for (size_t i = 0; i < n; i++) {
        const uint8_t *p = im->pixels + 3 * i;
        im->pixels[i] = (uint8_t)((19595u * p[0] + 38470u * p[1] + 7471u * p[2] + 32768u) >> 16);
    }
    im->C = 1;
}
