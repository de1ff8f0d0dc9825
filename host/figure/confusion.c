#include "host/figure/confusion.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "host/figure/draw.h"

static const dg_color dark = {45, 48, 56}, light = {255, 255, 255};

static void text(dg_canvas *c, double x, double y, double scale, dg_color color, bool upwards, const char *s)
{
    dg_draw_text(c, x, y, scale, 1.2, upwards, s);
    dg_draw_paint(c, color);
}

static const char *fitted(char out[64], const char *name, double scale, double room)
{
    snprintf(out, 64, "%.60s", name);
    for (size_t n = strlen(out); n > 1 && dg_text_width(scale, out) > room; n--) out[n - 1] = 0;
    return out;
}

static void fill(dg_canvas *c, int x0, int y0, int w, int h, dg_color color)
{
    for (int y = y0; y < y0 + h; y++)
        for (int x = x0; x < x0 + w; x++)
            memcpy(c->im.pixels + ((size_t)y * (size_t)c->im.W + (size_t)x) * 3, &color, 3);
}

enum { HEAD = 40, NAMES = 120, MARGIN = 16, NAMED = 40 };

static int cell_size(int classes) { return classes <= 12 ? 48 : classes <= 40 ? 22 : classes <= 128 ? 6 : 2; }

static void draw_row(dg_canvas *c, const long *row, int classes, int i, int cell, int left, int top)
{
    long all = 0;
    for (int k = 0; k < classes; k++) all += row[k];
    for (int k = 0; k < classes; k++) {
        const double share = all ? (double)row[k] / (double)all : 0;
        const uint8_t pale = (uint8_t)(255 - 225 * share + 0.5), mid = (uint8_t)(255 - 140 * share + 0.5);
        const dg_color color = i == k ? (dg_color){pale, mid, 255} : (dg_color){255, mid, pale};
        const int x = left + k * cell, y = top + i * cell, gap = cell > 8;
        char number[16];
        fill(c, x, y, cell - gap, cell - gap, row[k] ? color : (dg_color){246, 246, 247});
        if (cell < 40 || !row[k]) continue;
        snprintf(number, sizeof number, share < 0.0995 ? "%.1f" : "%.0f", 100 * share);
        text(c, x + (cell - dg_text_width(0.9, number)) / 2, y + cell / 2.0 + 4, 0.9, share > 0.7 ? light : dark, false,
             number);
    }
}

static int room_for(char *const *names, int classes)
{
    double most = 20;
    for (int i = 0; i < classes; i++) most = fmax(most, dg_text_width(0.9, names[i]) + 10);
    return most < NAMES ? (int)most : NAMES;
}

dg_err dg_confusion_draw(const long *count, int classes, char *const *names, const char *title, dg_image *out)
{
    const int cell = cell_size(classes), named = classes <= NAMED ? room_for(names, classes) : 20,
              left = named + MARGIN, top = HEAD + named, side = cell * classes;
    const int W = left + side + MARGIN < 460 ? 460 : left + side + MARGIN;
    dg_canvas c;
    dg_err e = dg_draw_open(&c, W, top + side + MARGIN);
    if (e) return e;
    text(&c, MARGIN, 26, 1.2, dark, false, title);
    for (int i = 0; i < classes; i++) {
        char name[64];
        draw_row(&c, count + (size_t)i * (size_t)classes, classes, i, cell, left, top);
        if (classes > NAMED) continue;
        const double middle = i * cell + cell / 2.0 + 4;
        fitted(name, names[i], 0.9, NAMES - 8);
        text(&c, left - 6 - dg_text_width(0.9, name), top + middle, 0.9, dark, false, name);
        text(&c, left + middle, top - 6, 0.9, dark, true, name);
    }
    *out = c.im;
    c.im.pixels = NULL;
    dg_draw_close(&c);
    return DG_OK;
}

enum { ACROSS = 8, IMAGE = 96, WORDS = 34, GAP = 12 };

static void put_image(dg_canvas *c, const dg_mistake *m, dg_size size, int channels, int x0, int y0)
{
    const int longer = dg_longer_side(size), W = IMAGE * size.W / longer, H = IMAGE * size.H / longer;
    x0 += (IMAGE - W) / 2, y0 += (IMAGE - H) / 2;
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            const uint8_t *p = m->pixels + ((size_t)(y * size.H / H) * (size_t)size.W + (size_t)(x * size.W / W)) *
                                               (size_t)channels;
            uint8_t *to = c->im.pixels + ((size_t)(y0 + y) * (size_t)c->im.W + (size_t)(x0 + x)) * 3;
            for (int k = 0; k < 3; k++) to[k] = p[channels >= 3 ? k : 0];
        }
}

dg_err dg_mistakes_draw(const dg_mistake *m, int n, dg_size size, int channels, const char *title, dg_image *out)
{
    const int rows = n ? (n + ACROSS - 1) / ACROSS : 1;
    dg_canvas c;
    dg_err e = dg_draw_open(&c, GAP + ACROSS * (IMAGE + GAP), HEAD + rows * (IMAGE + WORDS + GAP));
    if (e) return e;
    text(&c, GAP, 26, 1.2, dark, false, title);
    for (int i = 0; i < n; i++) {
        const int x = GAP + i % ACROSS * (IMAGE + GAP), y = HEAD + i / ACROSS * (IMAGE + WORDS + GAP);
        char line[64], name[64];
        put_image(&c, &m[i], size, channels, x, y);
        text(&c, x, y + IMAGE + 13, 0.8, dark, false, fitted(line, m[i].is, 0.8, IMAGE));
        snprintf(line, sizeof line, " %.0f%%", 100 * m[i].share);
        fitted(name, m[i].said, 0.8, IMAGE - dg_text_width(0.8, line) - 2);
        text(&c, x, y + IMAGE + 28, 0.8, (dg_color){190, 60, 0}, false, name);
        text(&c, x + dg_text_width(0.8, name), y + IMAGE + 28, 0.8, (dg_color){190, 60, 0}, false, line);
    }
    *out = c.im;
    c.im.pixels = NULL;
    dg_draw_close(&c);
    return DG_OK;
}
