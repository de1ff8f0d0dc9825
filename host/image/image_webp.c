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

static dg_err decode(const uint8_t *file, size_t bytes, const WebPBitstreamFeatures *f, uint8_t *rgba, dg_row_sink *to)
{
    const size_t row = 4 * (size_t)f->width, rows = (size_t)f->height;
    VP8StatusCode code = decode_once(file, bytes, rgba, row, rows);
    if (code == VP8_STATUS_BITSTREAM_ERROR || code == VP8_STATUS_USER_ABORT) /* or lack of memory */
        code = dg_memory_left(2 * row * rows + (1 << 20)) ? decode_once(file, bytes, rgba, row, rows)
                                                          : VP8_STATUS_OUT_OF_MEMORY;
    if (code == VP8_STATUS_INVALID_PARAM)
        return dg_fail(DG_DATA, "WebP: libwebp and its header have different versions");
    if (code != VP8_STATUS_OK) return wrong(code);
    size_t length;
    dg_row_sink_note(to, DG_DID_PROFILE, chunk_of(file, bytes, "ICCP", &length));
    const dg_err e = dg_row_sink_open(to, f->width, f->height, to->o->exif ? orientation_of(file, bytes) : 1);
    for (int y = 0; y < f->height && !e; y++) dg_row_sink_put_rgba(to, y, rgba + (size_t)y * row);
    return e;
}

dg_err dg_webp_pixels(const uint8_t *file, size_t bytes, dg_row_sink *to)
{
    WebPBitstreamFeatures f;
    const VP8StatusCode code = WebPGetFeatures(file, bytes, &f);
    if (code != VP8_STATUS_OK) return wrong(code);
    to->kind = f.has_alpha ? DG_KIND_WEBP_ALPHA : DG_KIND_WEBP;
    if (bytes < 12 || little32(file + 4) > bytes - 8) return dg_fail(DG_DATA, "WebP: cut off");
    if (f.has_animation)
        return dg_fail(DG_DATA, "an animated WebP, not supported; extract a frame: webpmux -get frame 1 FILE -o FRAME");
    /* libwebp has its own copy of the pixels, and two copies for lossless images. */
    const uint64_t pixels = (uint64_t)f.width * (uint64_t)f.height;
    dg_err e = dg_image_afford("WebP", f.width, f.height, bytes, 9 * pixels, to);
    uint8_t *rgba = e ? NULL : malloc(4 * (size_t)pixels);
    if (!e && !rgba) e = dg_fail(DG_DEVICE, "no memory to decode a WebP");
    if (!e) e = decode(file, bytes, &f, rgba, to);
    free(rgba);
    return e;
}
