#include "host/report/plot.h"

#include <math.h>
#include <stdlib.h>

#include "host/figure/axis.h"
#include "host/report/html.h"

enum { FEW_EPOCHS = 8, FEW_POINTS = 100, WIDE = 1000, HIGH = 400 };

bool dg_plot_by_epochs(const dg_log_row *row, long n) { return n > 0 && row[n - 1].epoch - row[0].epoch >= FEW_EPOCHS; }

static uint64_t rounded_up(uint64_t a, uint64_t b) { return (a + b - 1) / b; }

/* Mean of the rows that have the same key; keys ascend. */
typedef struct {
    uint64_t key;
    long n;
    double x, y, low, high;
} window;

static void add(window *w, double x, double y)
{
    w->low = w->n && w->low < y ? w->low : y;
    w->high = w->n && w->high > y ? w->high : y;
    w->x += x;
    w->y += y;
    w->n++;
}

static void end_point(dg_plot_curve *c, window *w)
{
    if (!w->n) return;
    c->x[c->points] = w->x / (double)w->n;
    c->y[c->points++] = w->y / (double)w->n;
}

static void end_bin(dg_plot_curve *c, window *w)
{
    if (!w->n) return;
    c->at[c->bins] = w->x / (double)w->n;
    c->low[c->bins] = w->low;
    c->high[c->bins++] = w->high;
}

void dg_plot_fill(dg_plot_curve *c, const dg_metric *m, const dg_log_row *row, const double *x, long n, bool epochs)
{
    uint64_t values = 0, at = 0;
    for (long i = 0; i < n; i++) values += isnan(dg_metric_value(m, row[i].value)) ? 0 : 1;
    c->points = c->bins = 0;
    if (!values) return;
    const bool test = m->over == DG_OVER_TEST;
    const uint64_t most = epochs || test ? DG_PLOT_POINTS : FEW_POINTS;
    const uint64_t size = epochs && !test ? rounded_up(row[n - 1].epoch - row[0].epoch + 1, most)
                                          : rounded_up(values, most),
                   bin = values / 4 < DG_PLOT_BINS ? 4 : rounded_up(values, DG_PLOT_BINS);
    window point = {0}, step = {0};
    for (long i = 0; i < n; i++) {
        const double y = dg_metric_value(m, row[i].value);
        if (isnan(y)) continue;
        const uint64_t p = (epochs && !test ? row[i].epoch - row[0].epoch : at) / size, b = at / bin;
        if (point.key != p) end_point(c, &point), point = (window){.key = p};
        if (step.key != b && !test) end_bin(c, &step), step = (window){.key = b};
        add(&point, x[i], y);
        if (!test) add(&step, x[i], y);
        at++;
    }
    end_point(c, &point);
    end_bin(c, &step);
}

/* Axis ranges. cut: means far above all others, as after a diverging step, are left out of the range. */
typedef struct {
    double left, right, low, high, largest;
    bool cut;
} range;

/* Widen a range that is too small for distinct ticks. */
static void widen(double *low, double *high)
{
    const double size = fmax(fabs(*low), fabs(*high)), least = fmax(1e-9 * size, 1e-100);
    if (*high - *low >= least) return;
    const double half = fmax(size / 2, .5);
    *low -= half;
    *high += half;
}

static void find_y(const dg_report_plot *p, range *r)
{
    int n = 0;
    double all[DG_PLOT_CURVES * DG_PLOT_POINTS];
    for (int k = 0; k < p->curves; k++)
        for (int i = 0; i < p->curve[k].points; i++)
            if (dg_axis_shows(p->curve[k].y[i])) all[n++] = p->curve[k].y[i];
    if (n) {
        qsort(all, (size_t)n, sizeof *all, dg_axis_rising);
        const double most = all[n - 1 - n / 40];
        r->low = all[0] < 0 || all[0] > most / 2 ? all[0] : 0;
        r->largest = all[n - 1];
        r->cut = most > 0 && r->largest > 4 * most;
        r->high = r->cut ? 1.5 * most : r->largest;
    }
    if (p->y_max > 0) r->low = 0, r->high = p->y_max, r->cut = false;
    if (!(r->high > r->low)) r->high = r->low + 1;
    widen(&r->low, &r->high);
    const double room = p->y_max > 0 ? 0 : (r->high - r->low) / 20;
    if (r->low != 0) r->low -= room;
    r->high += room;
}

static range find_range(const dg_report_plot *p)
{
    range r = {.left = INFINITY, .right = -INFINITY, .high = 1};
    find_y(p, &r);
    for (int k = 0; k < p->curves; k++) {
        const dg_plot_curve *c = &p->curve[k];
        if (c->points) r.left = fmin(r.left, c->x[0]), r.right = fmax(r.right, c->x[c->points - 1]);
        if (c->bins) r.left = fmin(r.left, c->at[0]), r.right = fmax(r.right, c->at[c->bins - 1]);
    }
    if (!(r.right > r.left)) r.left = isfinite(r.left) ? r.left - .5 : 0, r.right = r.left + 1;
    widen(&r.left, &r.right);
    return r;
}

static double across(const range *r, double x) { return (x - r->left) / (r->right - r->left); }
static double down(const range *r, double y) { return 1 - (y - r->low) / (r->high - r->low); }

static void put_place(FILE *to, const range *r, char move, double x, double y)
{
    const double v = down(r, y);
    fprintf(to, "%c%.1f %.1f", move, across(r, x) * WIDE, (v > 2 ? 2 : v >= -1 ? v : -1) * HIGH); /* NaN: above */
}

/* Draw the lines of the axes, or their labels, which are outside of the stretched SVG. */
static void put_axes(FILE *to, const range *r, const char *unit, bool labels)
{
    double v[DG_AXIS_TICKS];
    int n = dg_axis_ticks(&(dg_axis){r->low, r->high, dg_axis_step(r->high - r->low, 5)}, v);
    for (int i = 0; i < n; i++) {
        if (labels) fprintf(to, "<span class=\"y\" style=\"top:%.2f%%\">%.4g</span>", 100 * down(r, v[i]), v[i]);
        else fprintf(to, "<path class=\"line\" d=\"M0 %.1fH%d\"/>", down(r, v[i]) * HIGH, WIDE);
    }
    n = labels ? dg_axis_ticks(&(dg_axis){r->left, r->right, dg_axis_step(r->right - r->left, 6)}, v) : 0;
    for (int i = 0; i < n; i++)
        fprintf(to, "<span class=\"x\" style=\"left:%.2f%%\">%.6g</span>", 100 * across(r, v[i]), v[i]);
    if (labels) fprintf(to, "<span class=\"unit\">%s</span>", unit);
}

static void put_curve(FILE *to, const range *r, const dg_plot_curve *c, int color)
{
    if (c->bins > 1) {
        fprintf(to, "<path class=\"band c%d\" d=\"", color);
        for (int i = 0; i < c->bins; i++) put_place(to, r, i ? 'L' : 'M', c->at[i], c->high[i]);
        for (int i = c->bins - 1; i >= 0; i--) put_place(to, r, 'L', c->at[i], c->low[i]);
        fputs("Z\"/>\n", to);
    }
    fprintf(to, "<path class=\"mean c%d\" d=\"", color);
    for (int i = 0; i < c->points; i++) put_place(to, r, i ? 'L' : 'M', c->x[i], c->y[i]);
    fputs(c->points == 1 ? "h0\"/>\n" : "\"/>\n", to);
}

static void put_numbers(FILE *to, char key, const double *v, int n)
{
    fprintf(to, "\"%c\":[", key);
    for (int i = 0; i < n; i++) {
        if (i) fputc(',', to);
        if (key == 'x' && isfinite(v[i])) fprintf(to, "%.7g", v[i]);
        else dg_html_json(to, v[i]);
    }
    fputc(']', to);
}

static void put_values(FILE *to, const dg_report_plot *p, const range *r)
{
    fprintf(to, "<script type=\"application/json\">{\"left\":%.9g,\"right\":%.9g,\"shift\":%g,\"curves\":[", r->left,
            r->right, p->epochs ? .5 : 0.);
    for (int k = 0; k < p->curves; k++) {
        fputs(k ? ",{" : "{", to);
        put_numbers(to, 'x', p->curve[k].x, p->curve[k].points);
        fputc(',', to);
        put_numbers(to, 'y', p->curve[k].y, p->curve[k].points);
        fputc('}', to);
    }
    fputs("]}</script>\n", to);
}

static void put_label(FILE *to, const dg_report_plot *p)
{
    fputs("aria-label=\"", to);
    dg_html_text(to, p->title);
    fprintf(to, " over %ss.", p->unit);
    for (int k = 0; k < p->curves; k++) {
        const dg_plot_curve *c = &p->curve[k];
        if (!c->points) continue;
        fputc(' ', to);
        dg_html_text(to, c->label);
        fputs(": from ", to);
        dg_html_number(to, c->y[0]);
        fputs(" to ", to);
        dg_html_number(to, c->y[c->points - 1]);
        fputc('.', to);
    }
    fputs(" Arrow keys read single values.\"", to);
}

void dg_plot_write(FILE *to, const dg_report_plot *p)
{
    const range r = find_range(p);
    fprintf(to, "<figure class=\"plot\" data-unit=\"%s\">\n<figcaption><h3>", p->unit);
    dg_html_text(to, p->title);
    fputs("</h3><ul class=\"legend\">", to);
    for (int k = 0; k < p->curves; k++) {
        fprintf(to,
                "<li><svg class=\"key\" viewBox=\"0 0 20 6\" aria-hidden=\"true\"><path class=\"mean c%d\" "
                "d=\"M1 3H19\"/></svg><span>",
                k);
        dg_html_text(to, p->curve[k].label);
        fputs("</span> <b></b></li>", to);
    }
    fputs("</ul></figcaption>\n<div class=\"frame\">", to);
    put_axes(to, &r, p->unit, true);
    fprintf(to, "\n<svg viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\" tabindex=\"0\" role=\"img\" ", WIDE, HIGH);
    put_label(to, p);
    fputs(">\n", to);
    put_axes(to, &r, p->unit, false);
    for (int k = 0; k < p->curves; k++) put_curve(to, &r, &p->curve[k], k);
    fprintf(to, "<path class=\"cursor\" d=\"M-9 0V%d\"/>\n</svg></div>\n", HIGH);
    if (r.cut)
        fprintf(to, "<p class=\"note\">The axis ends at %.3g; the largest mean is %.4g.</p>\n", r.high, r.largest);
    fputs("<p class=\"value\" role=\"status\"></p>\n", to);
    put_values(to, p, &r);
    fputs("</figure>\n", to);
}
