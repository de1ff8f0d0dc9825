#include "host/figure/axis.h"
#include "host/figure/draw.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const dg_color INK = {45, 48, 56}, SOFT = {105, 110, 120}, GRID = {232, 234, 238}, AXIS = {120, 125, 135};
static const double TITLE = 1.2, TEXT = 1, TITLE_WEIGHT = 1.9, TEXT_WEIGHT = 1.2;

typedef struct {
    double low, high;
    bool any;
} extent;

static void include(extent *e, double v)
{
    if (!dg_axis_shows(v)) return;
    if (!e->any || v < e->low) e->low = v;
    if (!e->any || v > e->high) e->high = v;
    e->any = true;
}

enum { SAMPLE = 20000 };

/* Range of the y axis for a thin series, from quantiles of at most 20,000 evenly chosen values. Rare spikes are left
 * out, because they would flatten the rest; they are clipped. */
static dg_err claim(const dg_series *s, extent *e)
{
    if (!s->thin || s->n < 100) {
        for (int i = 0; i < s->n; i++)
            if (dg_axis_shows(s->x[i])) include(e, s->y[i]);
        return DG_OK;
    }
    double *v = malloc(SAMPLE * sizeof *v);
    if (!v) return dg_fail(DG_DEVICE, "plot: out of memory");
    int n = 0, count = s->n < SAMPLE ? s->n : SAMPLE;
    for (int i = 0; i < count; i++) {
        double y = s->y[(long long)i * s->n / count];
        if (dg_axis_shows(y)) v[n++] = y;
    }
    if (n > 0) {
        qsort(v, (size_t)n, sizeof *v, dg_axis_rising);
        double low = v[n / 200], high = v[n - 1 - n / 200], full = v[n - 1] - v[0];
        bool spiky = full > 1.5 * (high - low);
        include(e, spiky ? low : v[0]);
        include(e, spiky ? high : v[n - 1]);
    }
    free(v);
    return DG_OK;
}

static dg_axis fit(extent e, int most, bool round_out)
{
    if (!e.any) e = (extent){0, 1, true};
    double size = fmax(fabs(e.low), fabs(e.high));
    if (e.high - e.low <= 1e-9 * size || e.high == e.low) {
        double half = size > 0 ? size * .5 : 1;
        e.low -= half;
        e.high += half;
    } else if (round_out && e.low > 0 && e.low < .4 * e.high) {
        e.low = 0;
    }
    dg_axis a = {e.low, e.high, dg_axis_step(e.high - e.low, most)};
    if (round_out) {
        a.low = floor(a.low / a.step + 1e-9) * a.step;
        a.high = ceil(a.high / a.step - 1e-9) * a.step;
    } else { /* round to a multiple of the step only if one is close: 0.01 .. 99.9 becomes 0 .. 100 */
        double low = floor(a.low / a.step) * a.step, high = ceil(a.high / a.step) * a.step;
        if (a.low - low < .15 * a.step) a.low = low;
        if (high - a.high < .15 * a.step) a.high = high;
    }
    return a;
}

static void tick_label(char out[40], double v, double step)
{
    if (fabs(v) < step * 1e-6) v = 0; /* avoid labels such as "-0" and "1e-17" */
    double size = fmax(fabs(v), step);
    int decimals = (int)-floor(log10(step) + 1e-9);
    if (size >= 1e6 || step < 1e-5)
        snprintf(out, 40, "%.*g", (int)fmin(12, fmax(1, floor(log10(size)) + decimals + 1)), v);
    else snprintf(out, 40, "%.*f", decimals > 0 ? decimals : 0, v);
}

typedef struct {
    dg_canvas *c;
    int left, top, right, bottom;
    dg_axis x, y;
} frame;

static double to_x(const frame *f, double v)
{
    return f->left + (v - f->x.low) / (f->x.high - f->x.low) * (f->right - f->left);
}

static double to_y(const frame *f, double v)
{
    double t = (v - f->y.low) / (f->y.high - f->y.low);
    t = t < -4 ? -4 : t > 5 ? 5 : t; /* keep spikes within the range of int */
    return f->bottom - t * (f->bottom - f->top);
}

/* Draw marks, labels and grid lines. Lines are on pixel centres, so that they are exactly one pixel wide. */
static void draw_axes(const frame *f)
{
    char label[40];
    double xs[DG_AXIS_TICKS], ys[DG_AXIS_TICKS];
    int nx = dg_axis_ticks(&f->x, xs), ny = dg_axis_ticks(&f->y, ys);
    for (int i = 0; i < ny; i++) {
        double y = floor(to_y(f, ys[i])) + .5;
        dg_draw_line(f->c, f->left + .5, y, f->right - .5, y, 1);
    }
    for (int i = 0; i < nx; i++) {
        double x = floor(to_x(f, xs[i])) + .5;
        dg_draw_line(f->c, x, f->top + .5, x, f->bottom + .5, 1);
    }
    dg_draw_paint(f->c, GRID, 1);
    for (int i = 0; i < ny; i++) {
        double y = floor(to_y(f, ys[i]));
        tick_label(label, ys[i], f->y.step);
        dg_draw_text(f->c, f->left - 9 - dg_text_width(TEXT, label), y + 4, TEXT, TEXT_WEIGHT, false, label);
    }
    for (int i = 0; i < nx; i++) {
        double x = floor(to_x(f, xs[i]));
        tick_label(label, xs[i], f->x.step);
        dg_draw_text(f->c, x - dg_text_width(TEXT, label) / 2, f->bottom + 18, TEXT, TEXT_WEIGHT, false, label);
    }
    dg_draw_paint(f->c, SOFT, 1);
    for (int i = 0; i < nx; i++) {
        double x = floor(to_x(f, xs[i])) + .5;
        dg_draw_line(f->c, x, f->bottom + .5, x, f->bottom + 4.5, 1);
    }
    dg_draw_line(f->c, f->left + .5, f->bottom + .5, f->right - .5, f->bottom + .5, 1);
    dg_draw_line(f->c, f->left + .5, f->top + .5, f->left + .5, f->bottom + .5, 1);
    dg_draw_paint(f->c, AXIS, 1);
}

/* A polyline that is drawn point by point. All points in one column of pixels are drawn as four: the first, both
 * extremes in their order, and the last. The result is exact, and a million points cost as much as a thousand. */
typedef struct {
    const frame *f;
    double width;
    double x, y;
    long column, count; /* points of the current column */
    double first[2], low[2], high[2], last[2];
    bool low_first, drawing;
} line;

static void draw_to(line *l, const double p[2])
{
    if (l->drawing && (p[0] != l->x || p[1] != l->y)) dg_draw_line(l->f->c, l->x, l->y, p[0], p[1], l->width);
    l->drawing = true;
    l->x = p[0];
    l->y = p[1];
}

static void end_column(line *l)
{
    if (l->count == 0) return;
    /* Draw several points as one vertical line in the middle of the column: rounding x causes moire in dense data. */
    if (l->count > 2) l->first[0] = l->low[0] = l->high[0] = l->last[0] = (double)l->column + .5;
    draw_to(l, l->first);
    draw_to(l, l->low_first ? l->low : l->high);
    draw_to(l, l->low_first ? l->high : l->low);
    draw_to(l, l->last);
    l->count = 0;
}

static void add_point(line *l, double x, double y)
{
    const double p[2] = {x, y};
    long column = (long)floor(x);
    if (l->count && column != l->column) end_column(l);
    if (l->count++ == 0) {
        l->column = column;
        memcpy(l->first, p, sizeof p);
        memcpy(l->low, p, sizeof p);
        memcpy(l->high, p, sizeof p);
        l->low_first = true;
    } else if (y < l->low[1]) {
        memcpy(l->low, p, sizeof p);
        l->low_first = false;
    } else if (y > l->high[1]) {
        memcpy(l->high, p, sizeof p);
        l->low_first = true;
    }
    memcpy(l->last, p, sizeof p);
}

static void draw_series(const frame *f, const dg_series *s)
{
    line l = {.f = f, .width = s->thin ? 1.0 : 2.2};
    double dot = s->thin ? 2.5 : s->n <= 40 ? 6 : 3;
    dg_draw_clip(f->c, f->left, f->top - 2, f->right, f->bottom + 2);
    for (int i = 0; i < s->n; i++) {
        if (!dg_axis_shows(s->x[i]) || !dg_axis_shows(s->y[i])) {
            end_column(&l);
            l.drawing = false;
            continue;
        }
        double x = to_x(f, s->x[i]), y = to_y(f, s->y[i]);
        bool alone = (i == 0 || !dg_axis_shows(s->y[i - 1])) && (i + 1 == s->n || !dg_axis_shows(s->y[i + 1]));
        if (alone || (!s->thin && s->n <= 40)) {
            dg_draw_unclip(f->c); /* draw a mark on the frame's edge whole */
            if (y >= f->top - 2 && y <= f->bottom + 2) dg_draw_line(f->c, x, y, x, y, dot);
            dg_draw_clip(f->c, f->left, f->top - 2, f->right, f->bottom + 2);
        }
        add_point(&l, x, y);
    }
    end_column(&l);
    dg_draw_paint(f->c, (dg_color){s->color[0], s->color[1], s->color[2]}, s->thin ? .32 : 1);
    dg_draw_unclip(f->c);
}

/* Right-aligned in the title's line, outside the frame. */
static void draw_legend(const frame *f, const dg_plot *p, int y)
{
    double width = 0;
    for (int i = 0; i < p->count; i++)
        if (p->series[i].label) width += 22 + 6 + dg_text_width(TEXT, p->series[i].label) + 18;
    double x = f->right - width + 18;
    for (int i = 0; i < p->count; i++) {
        const dg_series *s = &p->series[i];
        if (!s->label) continue;
        dg_draw_line(f->c, x + 2, y - 4, x + 20, y - 4, s->thin ? 1.5 : 3);
        dg_draw_paint(f->c, (dg_color){s->color[0], s->color[1], s->color[2]}, 1);
        dg_draw_text(f->c, x + 28, y, TEXT, TEXT_WEIGHT, false, s->label);
        dg_draw_paint(f->c, INK, 1);
        x += 22 + 6 + dg_text_width(TEXT, s->label) + 18;
    }
}

static double widest_y_label(const dg_axis *a)
{
    double widest = 0, at[DG_AXIS_TICKS];
    char label[40];
    for (int i = dg_axis_ticks(a, at) - 1; i >= 0; i--) {
        tick_label(label, at[i], a->step);
        widest = fmax(widest, dg_text_width(TEXT, label));
    }
    return widest;
}

dg_err dg_draw_plot(dg_canvas *c, const dg_plot *p, int left, int top, int right, int bottom)
{
    extent ex = {0}, ey = {0};
    if (p->fixed_y && !(dg_axis_shows(p->y_min) && dg_axis_shows(p->y_max) && p->y_max > p->y_min))
        return dg_fail(DG_USAGE, "plot: invalid y axis from %g to %g", p->y_min, p->y_max);
    for (int i = 0; i < p->count; i++) {
        const dg_series *s = &p->series[i];
        for (int k = 0; k < s->n; k++)
            if (dg_axis_shows(s->y[k])) include(&ex, s->x[k]);
        dg_err e = claim(s, &ey);
        if (e) return e;
    }
    frame f = {.c = c, .left = left + 64, .top = top + 34, .right = right - 22, .bottom = bottom - 26};
    if (p->x_label) f.bottom -= 20;
    if (f.right - f.left < 60 || f.bottom - f.top < 30)
        return dg_fail(DG_USAGE, "plot of %d x %d pixels: too small", right - left, bottom - top);
    f.x = fit(ex, (f.right - f.left) / 80, false);
    int most = (f.bottom - f.top) / 34 > 2 ? (f.bottom - f.top) / 34 : 2;
    f.y = fit(ey, most, true);
    if (p->fixed_y) f.y = (dg_axis){p->y_min, p->y_max, dg_axis_step(p->y_max - p->y_min, most)};
    double wide = widest_y_label(&f.y);
    if (wide > 28) f.left = left + 36 + (int)wide;
    draw_axes(&f);
    for (int thin = 1; thin >= 0; thin--)
        for (int i = 0; i < p->count; i++)
            if (p->series[i].thin == (thin == 1)) draw_series(&f, &p->series[i]);
    if (!ex.any) {
        const char *text = "no data yet";
        double x = (f.left + f.right - dg_text_width(TITLE, text)) / 2;
        dg_draw_text(c, x, (f.top + f.bottom) / 2.0, TITLE, TEXT_WEIGHT, false, text);
        dg_draw_paint(c, SOFT, 1);
    }
    if (p->title) dg_draw_text(c, f.left, top + 20, TITLE, TITLE_WEIGHT, false, p->title);
    dg_draw_paint(c, INK, 1);
    draw_legend(&f, p, top + 20);
    if (p->x_label) {
        double x = (f.left + f.right - dg_text_width(TEXT, p->x_label)) / 2;
        dg_draw_text(c, x, f.bottom + 38, TEXT, TEXT_WEIGHT, false, p->x_label);
    }
    if (p->y_label) {
        double y = (f.top + f.bottom + dg_text_width(TEXT, p->y_label)) / 2;
        dg_draw_text(c, left + 18, y, TEXT, TEXT_WEIGHT, true, p->y_label);
    }
    dg_draw_paint(c, INK, 1);
    return DG_OK;
}

dg_err dg_plots_draw(const dg_plot *plots, int count, int W, int H, dg_image *out)
{
    dg_canvas c;
    dg_err e = dg_draw_open(&c, W, H);
    if (e) return e;
    for (int i = 0; i < count && !e; i++) e = dg_draw_plot(&c, &plots[i], 0, H * i / count, W, H * (i + 1) / count);
    if (!e) {
        *out = c.im;
        c.im.pixels = NULL;
    }
    dg_draw_close(&c);
    return e;
}
