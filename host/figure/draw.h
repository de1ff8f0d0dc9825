/* Drawing for figures: a white canvas, antialiased lines and text. The functions dg_draw_line and dg_draw_text add
 * strokes to a coverage mask. The function dg_draw_paint paints the mask in one colour and clears the mask.
 * Coordinates are in pixels from the upper left corner. The centre of the first pixel is (0.5, 0.5). */
#pragma once

#include "host/figure/images.h"

typedef struct {
    dg_image im;
    uint8_t *cover; /* coverage mask (H, W), 0 where nothing was drawn */
    int dirty[4];   /* rectangle: left, top, right, bottom (right and bottom exclusive) */
} dg_canvas;

typedef struct {
    uint8_t r, g, b;
} dg_color;

dg_err dg_draw_open(dg_canvas *c, int W, int H); /* the caller may take ownership of c->im before dg_draw_close */
void dg_draw_close(dg_canvas *c);

void dg_draw_line(dg_canvas *c, double x0, double y0, double x1, double y1, double width);
void dg_draw_paint(dg_canvas *c, dg_color color);

/* Add text with its baseline at (x, y), rounded to whole pixels for sharp stems. Capitals are 9 * scale pixels high.
 * Non-ASCII characters are drawn as '?'. With `upwards`, the text is rotated by 90 degrees, from bottom to top. */
void dg_draw_text(dg_canvas *c, double x, double y, double scale, double weight, bool upwards, const char *text);
double dg_text_width(double scale, const char *text);
