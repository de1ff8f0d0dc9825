#include "host/figure/draw.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void forget(dg_canvas *c)
{
    c->dirty[0] = c->im.W;
    c->dirty[1] = c->im.H;
    c->dirty[2] = c->dirty[3] = 0;
}

dg_err dg_draw_open(dg_canvas *c, int W, int H)
{
    if (W < 1 || H < 1 || W > 16384 || H > 16384)
        return dg_fail(DG_USAGE, "plot of %d x %d pixels: sides must be 1 to 16384", W, H);
    size_t n = (size_t)W * (size_t)H;
    *c = (dg_canvas){.im = {W, H, 3, malloc(n * 3)}, .cover = calloc(n, 1)};
    if (!c->im.pixels || !c->cover) {
        dg_draw_close(c);
        return dg_fail(DG_DEVICE, "plot of %d x %d pixels: out of memory", W, H);
    }
    memset(c->im.pixels, 255, n * 3);
    forget(c);
    return DG_OK;
}

void dg_draw_close(dg_canvas *c)
{
    free(c->im.pixels);
    free(c->cover);
    c->im.pixels = c->cover = NULL;
}

static bool span(double low, double high, int most, int *from, int *to)
{
    low = floor(low);
    high = ceil(high);
    if (!(low < most && high > 0)) return false;
    *from = low > 0 ? (int)low : 0;
    *to = high < most ? (int)high : most;
    return *from < *to;
}

static void widen(int dirty[4], int left, int top, int right, int bottom)
{
    if (left < dirty[0]) dirty[0] = left;
    if (top < dirty[1]) dirty[1] = top;
    if (right > dirty[2]) dirty[2] = right;
    if (bottom > dirty[3]) dirty[3] = bottom;
}

void dg_draw_line(dg_canvas *c, double x0, double y0, double x1, double y1, double width)
{
    double reach = width * .5 + .5, dx = x1 - x0, dy = y1 - y0, square = dx * dx + dy * dy;
    double most = width < 1 ? width : 1; /* a line thinner than a pixel is drawn fainter */
    int left, right, top, bottom;
    if (!span(fmin(x0, x1) - reach, fmax(x0, x1) + reach, c->im.W, &left, &right)) return;
    if (!span(fmin(y0, y1) - reach, fmax(y0, y1) + reach, c->im.H, &top, &bottom)) return;
    widen(c->dirty, left, top, right, bottom);
    for (int y = top; y < bottom; y++) {
        uint8_t *row = c->cover + (size_t)y * (size_t)c->im.W;
        for (int x = left; x < right; x++) {
            double px = x + .5 - x0, py = y + .5 - y0;
            double t = square > 0 ? (px * dx + py * dy) / square : 0;
            t = t < 0 ? 0 : t > 1 ? 1 : t;
            double ex = px - t * dx, ey = py - t * dy, part = reach - sqrt(ex * ex + ey * ey);
            if (part <= 0) continue;
            uint8_t cover = (uint8_t)((part < most ? part : most) * 255 + .5);
            if (cover > row[x]) row[x] = cover;
        }
    }
}

void dg_draw_paint(dg_canvas *c, dg_color color)
{
    const int ink[3] = {color.r, color.g, color.b};
    for (int y = c->dirty[1]; y < c->dirty[3]; y++) {
        uint8_t *cover = c->cover + (size_t)y * (size_t)c->im.W;
        uint8_t *pixel = c->im.pixels + (size_t)y * (size_t)c->im.W * 3;
        for (int x = c->dirty[0]; x < c->dirty[2]; x++) {
            const int a = cover[x];
            cover[x] = 0;
            for (int k = 0; a && k < 3; k++) {
                const int sum = ink[k] * a + pixel[x * 3 + k] * (255 - a);
                pixel[x * 3 + k] = (uint8_t)((sum + 127) / 255);
            }
        }
    }
    forget(c);
}
