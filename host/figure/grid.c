#include "host/figure/pictures.h"

#include <stdlib.h>
#include <string.h>

enum { GAP = 2 };

dg_err dg_sheet(const uint8_t *pixels, int n, int S, int C, int rows, int cols, dg_image *out)
{
    /* 32,768 pixels a side is more than any viewer shows, and keeps every product below inside an int64. */
    int64_t step = (int64_t)S + GAP;
    if (S < 1 || rows < 1 || cols < 1 || (C != 1 && C != 3) || n < 0 || rows * step > 32768 || cols * step > 32768)
        return dg_fail(DG_USAGE, "grid of %d x %d pictures of %d x %d pixels: at least 1 x 1, sides up to 32768 pixels",
                       rows, cols, S, S);
    dg_image im = {.W = cols * (S + GAP) + GAP, .H = rows * (S + GAP) + GAP, .C = C};
    size_t stride = (size_t)im.W * (size_t)C, row = (size_t)S * (size_t)C;
    im.pixels = calloc((size_t)im.H, stride);
    if (!im.pixels) return dg_fail(DG_DEVICE, "grid of %d x %d pixels: out of memory", im.W, im.H);
    for (int i = 0; i < n && i < rows * cols; i++) {
        int x = i % cols * (S + GAP) + GAP, y = i / cols * (S + GAP) + GAP;
        for (int line = 0; line < S; line++)
            memcpy(im.pixels + (size_t)(y + line) * stride + (size_t)x * (size_t)C,
                   pixels + ((size_t)i * (size_t)S + (size_t)line) * row, row);
    }
    *out = im;
    return DG_OK;
}
