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
    uint64_t need = 3 * pixels + work + file;
    if (need > budget)
        return dg_fail(DG_DATA, "%s: %lld x %lld would need %llu MiB to decode, the limit is %llu", format,
                       (long long)W, (long long)H, (unsigned long long)(need >> 20),
                       (unsigned long long)(budget >> 20));
    return DG_OK;
}

dg_err dg_row_sink_open(dg_row_sink *s, int W, int H, int orientation, dg_image *out)
{
    bool turned = orientation >= 5; /* rows become columns */
    bool back_x = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
    bool back_y = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
    *out = (dg_image){.W = turned ? H : W, .H = turned ? W : H, .C = 3};
    size_t bytes = 3 * (size_t)W * (size_t)H;
    out->pixels = malloc(bytes);
    if (!out->pixels) return dg_fail(DG_DEVICE, "no memory for a picture of %d x %d", W, H);

    ptrdiff_t row = 3 * (ptrdiff_t)out->W;
    s->x = turned ? row : 3;
    s->y = turned ? 3 : row;
    s->first = out->pixels;
    if (back_x) s->first += s->x * (W - 1), s->x = -s->x;
    if (back_y) s->first += s->y * (H - 1), s->y = -s->y;
    s->W = W;
    return DG_OK;
}

void dg_row_sink_put(const dg_row_sink *s, int y, const uint8_t *rgb)
{
    uint8_t *to = s->first + s->y * y;
    if (s->x == 3) {
        memcpy(to, rgb, 3 * (size_t)s->W);
        return;
    }
    for (ptrdiff_t x = 0; x < s->W; x++) {
        uint8_t *p = to + s->x * x;
        p[0] = rgb[3 * x];
        p[1] = rgb[3 * x + 1];
        p[2] = rgb[3 * x + 2];
    }
}

typedef enum { NEITHER, PNG, JPEG } format;

/* By content; for what is neither, the reason as a text that helps. */
static format recognise(const uint8_t *f, size_t bytes, const char **reason)
{
    static const struct {
        size_t at;
        const char *magic;
        size_t length;
        const char *reason;
    } other[] = {
        {1, "PNG", 3, "PNG: damaged signature"},
        {0, "GIF8", 4, "a GIF picture: only PNG and JPEG are read"},
        {8, "WEBP", 4, "a WebP picture: only PNG and JPEG are read"},
        {0, "BM", 2, "a BMP picture: only PNG and JPEG are read"},
        {0, "II*\0", 4, "a TIFF picture: only PNG and JPEG are read"},
        {0, "MM\0*", 4, "a TIFF picture: only PNG and JPEG are read"},
        {4, "ftypavif", 8, "an AVIF picture: only PNG and JPEG are read"},
        {4, "ftyphei", 7, "a HEIF picture: only PNG and JPEG are read"},
        {0, "\0\5\x16\7", 4, "an Apple resource fork, no picture"},
        {4, "ftypmif1", 8, "a HEIF picture: only PNG and JPEG are read"},
    };
    if (bytes >= 8 && !memcmp(f, "\x89PNG\r\n\x1a\n", 8)) return PNG;
    if (bytes >= 3 && !memcmp(f, "\xff\xd8\xff", 3)) return JPEG;
    *reason = bytes ? "neither PNG nor JPEG" : "empty file";
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        if (bytes >= other[i].at + other[i].length && !memcmp(f + other[i].at, other[i].magic, other[i].length)) {
            *reason = other[i].reason;
            break;
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
    };
    return (unsigned)k < DG_KINDS ? name[k] : name[0];
}

dg_err dg_image_decode(const void *data, size_t bytes, const dg_decode_options *o, dg_image *out)
{
    *out = (dg_image){0};
    size_t most = o->max_bytes ? o->max_bytes : (size_t)64 << 20;
    if (bytes > most) return dg_fail(DG_DATA, "a file of %zu bytes, the limit is %zu", bytes, most);
    const char *reason;
    switch (recognise(data, bytes, &reason)) {
    case PNG: return dg_png_pixels(data, bytes, o, out);
    case JPEG: return dg_jpeg_pixels(data, bytes, o, out);
    case NEITHER: break;
    }
    return dg_fail(DG_DATA, "%s", reason);
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
