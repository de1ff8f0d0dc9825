/* Reads WebP files by libwebp. */
#include "host/image/image_internal.h"

#include <stdlib.h>
#include <string.h>
#include <webp/decode.h>

static uint32_t little32(const uint8_t *p)
{
    return (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
}

static const uint8_t *chunk_of(const uint8_t *file, size_t bytes, const char *name, size_t *length)
{
    for (size_t at = 12; bytes - at >= 8;) {
        const size_t left = bytes - at - 8;
        *length = little32(file + at + 4);
        if (*length > left) break;
        if (!memcmp(file + at, name, 4)) return file + at + 8;
        if (*length + *length % 2 > left) break;
        at += 8 + *length + *length % 2;
    }
    return NULL;
}

static int orientation_of(const uint8_t *file, size_t bytes)
{
    size_t length;
    const uint8_t *data = chunk_of(file, bytes, "EXIF", &length);
    const size_t begins = data && length >= 6 && !memcmp(data, "Exif\0", 6) ? 6 : 0;
    return data ? dg_exif_orientation(data + begins, length - begins) : 1;
}

static dg_err wrong(VP8StatusCode code)
{
    if (code == VP8_STATUS_OUT_OF_MEMORY) return dg_fail(DG_DEVICE, "no memory to decode a WebP");
    const bool cut = code == VP8_STATUS_NOT_ENOUGH_DATA || code == VP8_STATUS_SUSPENDED;
    return dg_fail(DG_DATA, "WebP: %s", cut ? "cut off" : "damaged");
}

static VP8StatusCode decode_once(const uint8_t *file, size_t bytes, uint8_t *rgba, size_t row, size_t rows)
{
    WebPDecoderConfig c;
    if (!WebPInitDecoderConfig(&c)) return VP8_STATUS_INVALID_PARAM;
    c.output.colorspace = MODE_RGBA;
    c.output.is_external_memory = 1;
    c.output.u.RGBA = (WebPRGBABuffer){rgba, (int)row, row * rows};
    const VP8StatusCode code = WebPDecode(file, bytes, &c);
    WebPFreeDecBuffer(&c.output);
    return code;
}

/* The still image of a file, or the first frame of an animation, at (x, y) of the canvas */
typedef struct {
    const uint8_t *file; /* a file with this image only */
    size_t bytes;
    int x, y, W, H;
} still;

static dg_err decode_still(const still *s, uint8_t *rgba)
{
    const size_t row = 4 * (size_t)s->W, rows = (size_t)s->H;
    VP8StatusCode code = decode_once(s->file, s->bytes, rgba, row, rows);
    if (code == VP8_STATUS_BITSTREAM_ERROR || code == VP8_STATUS_USER_ABORT) /* or lack of memory */
        code = dg_memory_left(2 * row * rows + (1 << 20)) ? decode_once(s->file, s->bytes, rgba, row, rows)
                                                          : VP8_STATUS_OUT_OF_MEMORY;
    if (code == VP8_STATUS_INVALID_PARAM)
        return dg_fail(DG_DATA, "WebP: libwebp and its header have different versions");
    return code == VP8_STATUS_OK ? DG_OK : wrong(code);
}

/* Pixels of the canvas outside the frame are transparent. */
static dg_err give_rows(const still *s, const uint8_t *rgba, int W, int H, int orientation, dg_row_sink *to)
{
    const size_t row = 4 * (size_t)s->W;
    uint8_t *canvas = calloc((size_t)W, 4);
    if (!canvas) return dg_fail(DG_DEVICE, "no memory to decode a WebP");
    const dg_err e = dg_row_sink_open(to, W, H, orientation);
    for (int y = 0; y < H && !e; y++) {
        const bool inside = y >= s->y && y < s->y + s->H;
        if (inside) memcpy(canvas + 4 * (size_t)s->x, rgba + (size_t)(y - s->y) * row, row);
        else memset(canvas, 0, 4 * (size_t)W);
        dg_row_sink_put_rgba(to, y, canvas);
    }
    free(canvas);
    return e;
}

static int little24(const uint8_t *p) { return p[0] | p[1] << 8 | p[2] << 16; }

static void put_little32(uint8_t *p, size_t v)
{
    for (int i = 0; i < 4; i++) p[i] = (uint8_t)(v >> 8 * i);
}

/* Make a file of the first frame of an animation. Free *made. */
static dg_err first_frame(const uint8_t *file, size_t bytes, const WebPBitstreamFeatures *f, still *out, uint8_t **made)
{
    enum { FRAME = 16, HEAD = 12 + 18 };
    size_t n;
    const uint8_t *frame = chunk_of(file, bytes, "ANMF", &n);
    if (!frame || n < FRAME) return dg_fail(DG_DATA, "WebP: an animation without frames");
    *out = (still){.x = 2 * little24(frame),
                   .y = 2 * little24(frame + 3),
                   .W = 1 + little24(frame + 6),
                   .H = 1 + little24(frame + 9)};
    if (out->x + out->W > f->width || out->y + out->H > f->height)
        return dg_fail(DG_DATA, "WebP: a frame outside the image");
    out->bytes = HEAD + n - FRAME;
    if (!(*made = malloc(out->bytes))) return dg_fail(DG_DEVICE, "no memory to decode a WebP");
    memcpy(*made, "RIFF....WEBPVP8X\12\0\0\0\20\0\0\0", 24); /* 10 bytes; an image with alpha */
    put_little32(*made + 4, out->bytes - 8);
    memcpy(*made + 24, frame + 6, 6);
    memcpy(*made + HEAD, frame + FRAME, n - FRAME);
    out->file = *made;
    return DG_OK;
}

static bool has_more_frames(const uint8_t *file, size_t bytes)
{
    size_t n, next;
    const uint8_t *frame = chunk_of(file, bytes, "ANMF", &n);
    const size_t end = frame ? (size_t)(frame - file) + n + n % 2 : bytes;
    return end > 12 && end < bytes && chunk_of(file + end - 12, bytes - end + 12, "ANMF", &next);
}

dg_err dg_webp_pixels(const uint8_t *file, size_t bytes, dg_row_sink *to)
{
    WebPBitstreamFeatures f;
    size_t length;
    uint8_t *made = NULL, *rgba = NULL;
    const VP8StatusCode code = WebPGetFeatures(file, bytes, &f);
    if (code != VP8_STATUS_OK) return wrong(code);
    to->kind = f.has_alpha ? DG_KIND_WEBP_ALPHA : DG_KIND_WEBP;
    if (bytes < 12 || little32(file + 4) > bytes - 8) return dg_fail(DG_DATA, "WebP: cut off");
    still s = {.file = file, .bytes = bytes, .W = f.width, .H = f.height};
    /* libwebp has its own copy of the pixels, and two copies for lossless images. */
    const uint64_t pixels = (uint64_t)f.width * (uint64_t)f.height, copy = f.has_animation ? bytes : 0;
    dg_err e = dg_image_afford("WebP", f.width, f.height, bytes, 9 * pixels + copy, to);
    if (!e && f.has_animation) e = first_frame(file, bytes, &f, &s, &made);
    if (!e && !(rgba = malloc(4 * (size_t)s.W * (size_t)s.H))) e = dg_fail(DG_DEVICE, "no memory to decode a WebP");
    if (!e) e = decode_still(&s, rgba);
    dg_row_sink_note(to, DG_DID_PROFILE, chunk_of(file, bytes, "ICCP", &length));
    dg_row_sink_note(to, DG_DID_FRAME, f.has_animation && has_more_frames(file, bytes));
    if (!e) e = give_rows(&s, rgba, f.width, f.height, to->o->exif ? orientation_of(file, bytes) : 1, to);
    free(rgba);
    free(made);
    return e;
}
