/* Drawing for the plots: a white canvas, antialiased lines and text. A shape is first collected as coverage
 * (dg_draw_line, dg_draw_text), where overlaps count once, then painted in one colour (dg_draw_paint).
 * Coordinates are in pixels, (0, 0) the canvas's upper left corner, so the first pixel's centre is (0.5, 0.5). */
#ifndef DG_DRAW_H
#define DG_DRAW_H

#include "host/figure/images.h"

typedef struct {
    dg_image im;           /* (H, W, 3) */
    uint8_t *cover;        /* (H, W) of the shape under way, 0 elsewhere */
    int clip[4], dirty[4]; /* left, top, right, bottom (the last two exclusive) */
} dg_canvas;

typedef struct {
    uint8_t r, g, b;
} dg_color;

dg_err dg_draw_open(dg_canvas *c, int W, int H); /* free with dg_draw_close, or take c->im and then close */
void dg_draw_close(dg_canvas *c);
void dg_draw_clip(dg_canvas *c, int left, int top, int right, int bottom);
void dg_draw_unclip(dg_canvas *c);

void dg_draw_line(dg_canvas *c, double x0, double y0, double x1, double y1, double width); /* round ends */
void dg_draw_paint(dg_canvas *c, dg_color color, double alpha);

/* host/figure/font.c. Text with its baseline starting at (x, y), rounded to whole pixels so that it stays crisp;
 * upwards: turned by 90 degrees, reading from below. Capitals are 9 * scale pixels high. Non-ASCII characters
 * become '?'. */
void dg_draw_text(dg_canvas *c, double x, double y, double scale, double weight, bool upwards, const char *text);
double dg_text_width(double scale, const char *text);

/* One plot into this part of the canvas. */
dg_err dg_draw_plot(dg_canvas *c, const dg_plot *p, int left, int top, int right, int bottom);

#endif
