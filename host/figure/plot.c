#include <math.h>

#include "host/figure/chart.h"
#include "host/figure/draw.h"

enum { WIDTH = 900, HEADLINE = 34, FOOTLINE = 24, MARKED = 40 /* max number of points in a curve with point marks */ };
static const dg_color INK = {45, 48, 56}, SOFT = {105, 110, 120}, GRID = {232, 234, 238}, AXIS = {120, 125, 135};
static const double TITLE = 1.2, TEXT = 1, TITLE_WEIGHT = 1.9, TEXT_WEIGHT = 1.2, BAND = .25;

typedef struct {
    dg_canvas *c;
    const dg_chart *chart;
    dg_layout layout;
    int left, top, right, bottom;
} frame;

static double to_x(const frame *f, double v) { return f->left + dg_axis_part(&f->layout.x, v) * (f->right - f->left); }

static double to_y(const frame *f, double v)
{
    return f->bottom - dg_axis_part(&f->layout.y, v) * (f->bottom - f->top);
}

static dg_color color_of(int curve)
{
    const uint8_t *of = dg_chart_color[curve % DG_CHART_CURVES];
    return (dg_color){of[0], of[1], of[2]};
}

static void text(const frame *f, double x, double y, const char *of)
{
    dg_draw_text(f->c, x, y, TEXT, TEXT_WEIGHT, false, of);
}

/* Lines are at pixel centres, so that they are exactly one pixel wide. */
static void draw_axes(const frame *f)
{
    char label[40];
    double xs[DG_AXIS_TICKS], ys[DG_AXIS_TICKS];
    const int nx = dg_axis_ticks(&f->layout.x, xs), ny = dg_axis_ticks(&f->layout.y, ys);
    for (int i = 0; i < ny; i++) {
        const double y = floor(to_y(f, ys[i])) + .5;
        dg_draw_line(f->c, f->left + .5, y, f->right - .5, y, 1);
    }
    for (int i = 0; i < nx; i++) {
        const double x = floor(to_x(f, xs[i])) + .5;
        dg_draw_line(f->c, x, f->top + .5, x, f->bottom + .5, 1);
    }
    dg_draw_paint(f->c, GRID, 1);
    for (int i = 0; i < ny; i++) {
        dg_axis_label(label, &f->layout.y, ys[i]);
        text(f, f->left - 9 - dg_text_width(TEXT, label), floor(to_y(f, ys[i])) + 4, label);
    }
    for (int i = 0; i < nx; i++) {
        dg_axis_label(label, &f->layout.x, xs[i]);
        text(f, floor(to_x(f, xs[i])) - dg_text_width(TEXT, label) / 2, f->bottom + 18, label);
    }
    dg_draw_paint(f->c, SOFT, 1);
    dg_draw_line(f->c, f->left + .5, f->bottom + .5, f->right - .5, f->bottom + .5, 1);
    dg_draw_line(f->c, f->left + .5, f->top + .5, f->left + .5, f->bottom + .5, 1);
    dg_draw_paint(f->c, AXIS, 1);
}

static void draw_band(const frame *f, const dg_curve *c)
{
    for (int i = 0; i + 1 < c->bins; i++) {
        const double from = to_x(f, c->at[i]), to = to_x(f, c->at[i + 1]);
        for (int column = (int)ceil(from - .5); column + .5 < to; column++) {
            const double x = column + .5, t = (x - from) / (to - from);
            dg_draw_line(f->c, x, to_y(f, c->low[i]) * (1 - t) + to_y(f, c->low[i + 1]) * t, x,
                         to_y(f, c->high[i]) * (1 - t) + to_y(f, c->high[i + 1]) * t, 1);
        }
    }
}

static void draw_line(const frame *f, const dg_curve *c)
{
    for (int i = 0; i < c->points; i++) {
        const double x = to_x(f, c->x[i]), y = to_y(f, c->y[i]);
        const bool known = isfinite(c->y[i]), next = i + 1 < c->points && isfinite(c->y[i + 1]);
        if (known && next) dg_draw_line(f->c, x, y, to_x(f, c->x[i + 1]), to_y(f, c->y[i + 1]), 2.2);
        if (!known || c->points > MARKED || y < f->top - 2 || y > f->bottom + 2) continue;
        dg_draw_unclip(f->c); /* point marks may extend beyond the frame */
        dg_draw_line(f->c, x, y, x, y, 6);
        dg_draw_clip(f->c, f->left, f->top - 2, f->right, f->bottom + 2);
    }
}

static void draw_curves(const frame *f)
{
    dg_draw_clip(f->c, f->left, f->top - 2, f->right, f->bottom + 2);
    for (int pass = 0; pass < 2; pass++)
        for (int k = 0; k < f->chart->curves; k++) {
            if (pass) draw_line(f, &f->chart->curve[k]);
            else draw_band(f, &f->chart->curve[k]);
            dg_draw_paint(f->c, color_of(k), pass ? 1 : BAND);
        }
    dg_draw_unclip(f->c);
}

static void draw_legend(const frame *f, int y)
{
    enum { KEY = 28, GAP = 18 };
    const dg_chart *p = f->chart;
    double x = f->right + GAP;
    for (int k = 0; k < p->curves; k++) x -= KEY + dg_text_width(TEXT, p->curve[k].label) + GAP;
    for (int k = 0; k < p->curves; k++) {
        const char *label = p->curve[k].label;
        dg_draw_line(f->c, x + 2, y - 4, x + 20, y - 4, 3);
        dg_draw_paint(f->c, color_of(k), 1);
        text(f, x + KEY, y, label);
        dg_draw_paint(f->c, INK, 1);
        x += KEY + dg_text_width(TEXT, label) + GAP;
    }
}

static double widest_label(const dg_axis *a)
{
    double widest = 0, at[DG_AXIS_TICKS];
    char label[40];
    for (int i = dg_axis_ticks(a, at) - 1; i >= 0; i--) {
        dg_axis_label(label, a, at[i]);
        widest = fmax(widest, dg_text_width(TEXT, label));
    }
    return widest;
}

static void draw_chart(dg_canvas *c, const dg_chart *p, int top, int bottom)
{
    frame f = {.c = c, .chart = p, .left = 64, .top = top + 34, .right = WIDTH - 22, .bottom = bottom - 26};
    int points = 0;
    if (p->x_label) f.bottom -= 20;
    f.layout = dg_chart_layout(p, (f.right - f.left) / 80, (int)fmax(2, (f.bottom - f.top) / 34.));
    f.left = 36 + (int)fmax(28, widest_label(&f.layout.y));
    draw_axes(&f);
    draw_curves(&f);
    for (int k = 0; k < p->curves; k++) points += p->curve[k].points;
    const char *none = "no data yet";
    if (!points) text(&f, (f.left + f.right - dg_text_width(TEXT, none)) / 2, (f.top + f.bottom) / 2.0, none);
    dg_draw_paint(c, SOFT, 1);
    dg_draw_text(c, f.left, top + 20, TITLE, TITLE_WEIGHT, false, p->title);
    dg_draw_paint(c, INK, 1);
    draw_legend(&f, top + 20);
    if (p->x_label) text(&f, (f.left + f.right - dg_text_width(TEXT, p->x_label)) / 2, f.bottom + 38, p->x_label);
    if (p->y_label)
        dg_draw_text(c, 18, (f.top + f.bottom + dg_text_width(TEXT, p->y_label)) / 2, TEXT, TEXT_WEIGHT, true,
                     p->y_label);
    dg_draw_paint(c, INK, 1);
}

dg_err dg_charts_draw(const dg_chart *chart, int n, const char *title, int height, dg_image *out)
{
    dg_canvas c;
    const int head = title ? HEADLINE : 0, H = head + n * height + (title ? FOOTLINE : 0);
    const dg_err e = dg_draw_open(&c, WIDTH, H);
    if (e) return e;
    if (title) {
        const double wide = dg_text_width(1.3, title);
        dg_draw_text(&c, wide < WIDTH - 40 ? (WIDTH - wide) / 2 : 20, 30, 1.3, 2, false, title);
        dg_draw_paint(&c, INK, 1);
    }
    for (int i = 0; i < n; i++) draw_chart(&c, &chart[i], head + i * height, i + 1 < n ? head + (i + 1) * height : H);
    *out = c.im;
    c.im.pixels = NULL;
    dg_draw_close(&c);
    return DG_OK;
}
