#include "host/figure/images.h"

#include <stdlib.h>
#include <string.h>

enum { GAP = 2, LOOKED_AT = 800 };

dg_err dg_sheet(const uint8_t *pixels, int n, dg_size S, int C, int rows, int cols, dg_image *out)
{
    /* Image viewers show at most 32,768 pixels per side, and larger grids could overflow integers. */
    if (dg_shorter_side(S) < 1 || rows < 1 || cols < 1 || (C != 1 && C != 3 && C != 4) || n < 0 ||
        rows * ((int64_t)S.H + GAP) > 32768 || cols * ((int64_t)S.W + GAP) > 32768)
        return dg_fail(
            DG_USAGE, "grid of %d x %d images of %d x %d pixels: must be at least 1 x 1, with sides up to 32768 pixels",
            rows, cols, S.W, S.H);
    dg_image im = {.W = cols * (S.W + GAP) + GAP, .H = rows * (S.H + GAP) + GAP, .C = C};
    size_t stride = (size_t)im.W * (size_t)C, row = (size_t)S.W * (size_t)C;
    im.pixels = calloc((size_t)im.H, stride);
    if (!im.pixels) return dg_fail(DG_DEVICE, "grid of %d x %d pixels: out of memory", im.W, im.H);
    for (int i = 0; i < n && i < rows * cols; i++) {
        int x = i % cols * (S.W + GAP) + GAP, y = i / cols * (S.H + GAP) + GAP;
        for (int line = 0; line < S.H; line++)
            memcpy(im.pixels + (size_t)(y + line) * stride + (size_t)x * (size_t)C,
                   pixels + ((size_t)i * (size_t)S.H + (size_t)line) * row, row);
    }
    *out = im;
    return DG_OK;
}

void dg_to_rgb(const uint8_t *pixels, size_t n, int channels, uint8_t *rgb)
{
    for (; n--; pixels += channels)
        for (int k = 0; k < 3; k++) *rgb++ = dg_opaque_value(pixels, channels, k);
}

void dg_lay_over_white(dg_image *im)
{
    if (im->C != 4) return;
    uint8_t *to = im->pixels;
    for (size_t i = 0; i < (size_t)im->W * (size_t)im->H; i++) {
        uint8_t pixel[4];
        memcpy(pixel, im->pixels + 4 * i, sizeof pixel);
        for (int k = 0; k < 3; k++) *to++ = dg_opaque_value(pixel, 4, k);
    }
    im->C = 3;
}

int dg_scale_of(int scale, int W, int H)
{
    const int longer = W > H ? W : H;
    return scale > 0 ? scale : longer < LOOKED_AT ? LOOKED_AT / longer : 1;
}

dg_err dg_enlarge(dg_image *im, int scale)
{
    const int64_t W = (int64_t)im->W * scale, H = (int64_t)im->H * scale;
    if (scale == 1) return DG_OK;
    if (scale < 1 || W > 32768 || H > 32768)
        return dg_fail(DG_USAGE, "{scale} %d of an image of %d x %d pixels: sides would exceed 32768 pixels", scale,
                       im->W, im->H);
    const size_t dot = (size_t)im->C, line = (size_t)W * dot;
    uint8_t *out = malloc((size_t)H * line), *to = out;
    if (!out) return dg_fail(DG_DEVICE, "image of %d x %d pixels: out of memory", (int)W, (int)H);
    for (int y = 0; y < im->H; y++) {
        const uint8_t *from = im->pixels + (size_t)y * (size_t)im->W * dot;
        uint8_t *const first = to;
        for (int x = 0; x < im->W; x++, from += dot)
            for (int i = 0; i < scale; i++, to += dot) memcpy(to, from, dot);
        for (int i = 1; i < scale; i++, to += line) memcpy(to, first, line);
    }
    free(im->pixels);
    *im = (dg_image){(int)W, (int)H, im->C, out};
    return DG_OK;
}
