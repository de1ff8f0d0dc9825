#include "host/report/plot.h"

#include <math.h>

#include "host/report/html.h"

enum { WIDE = 1000, HIGH = 400, X_TICKS = 6, Y_TICKS = 5 };

static double down(const dg_layout *l, double y) { return 1 - dg_axis_part(&l->y, y); }

static void put_place(FILE *to, const dg_layout *l, char move, double x, double y)
{
    fprintf(to, "%c%.1f %.1f", move, dg_axis_part(&l->x, x) * WIDE, down(l, y) * HIGH);
}

/* With `labels`, write the axis labels as HTML, otherwise the grid lines as SVG paths. */
static void put_axes(FILE *to, const dg_layout *l, const char *unit, bool labels)
{
    double v[DG_AXIS_TICKS];
    char label[40];
    int n = dg_axis_ticks(&l->y, v);
    for (int i = 0; i < n; i++) {
        dg_axis_label(label, &l->y, v[i]);
        if (labels) fprintf(to, "<span class=\"y\" style=\"top:%.2f%%\">%s</span>", 100 * down(l, v[i]), label);
        else fprintf(to, "<path class=\"line\" d=\"M0 %.1fH%d\"/>", down(l, v[i]) * HIGH, WIDE);
    }
    n = labels ? dg_axis_ticks(&l->x, v) : 0;
    for (int i = 0; i < n; i++) {
        dg_axis_label(label, &l->x, v[i]);
        fprintf(to, "<span class=\"x\" style=\"left:%.2f%%\">%s</span>", 100 * dg_axis_part(&l->x, v[i]), label);
    }
    if (labels) fprintf(to, "<span class=\"unit\">%s</span>", unit);
}

static void put_curve(FILE *to, const dg_layout *l, const dg_curve *c, int color)
{
    if (c->bins > 1) {
        fprintf(to, "<path class=\"band c%d\" d=\"", color);
        for (int i = 0; i < c->bins; i++) put_place(to, l, i ? 'L' : 'M', c->at[i], c->high[i]);
        for (int i = c->bins - 1; i >= 0; i--) put_place(to, l, 'L', c->at[i], c->low[i]);
        fputs("Z\"/>\n", to);
    }
    fprintf(to, "<path class=\"mean c%d\" d=\"", color);
    for (int i = 0; i < c->points; i++) put_place(to, l, i ? 'L' : 'M', c->x[i], c->y[i]);
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

static void put_values(FILE *to, const dg_chart *p, const dg_layout *l)
{
    fprintf(to, "<script type=\"application/json\">{\"left\":%.9g,\"right\":%.9g,\"shift\":%g,\"curves\":[", l->x.low,
            l->x.high, p->epochs ? .5 : 0.);
    for (int k = 0; k < p->curves; k++) {
        fputs(k ? ",{" : "{", to);
        put_numbers(to, 'x', p->curve[k].x, p->curve[k].points);
        fputc(',', to);
        put_numbers(to, 'y', p->curve[k].y, p->curve[k].points);
        fputc('}', to);
    }
    fputs("]}</script>\n", to);
}

static void put_label(FILE *to, const dg_chart *p)
{
    fputs("aria-label=\"", to);
    dg_html_text(to, p->title);
    fprintf(to, " over %ss.", p->x_label);
    for (int k = 0; k < p->curves; k++) {
        const dg_curve *c = &p->curve[k];
        if (!c->points) continue;
        fputc(' ', to);
        dg_html_text(to, c->label);
        fputs(": from ", to);
        dg_html_number(to, c->y[0]);
        fputs(" to ", to);
        dg_html_number(to, c->y[c->points - 1]);
        fputc('.', to);
    }
    fputs(" Arrow keys show single values.\"", to);
}

void dg_plot_write(FILE *to, const dg_chart *p)
{
    const dg_layout l = dg_chart_layout(p, X_TICKS, Y_TICKS);
    fprintf(to, "<figure class=\"plot\" data-unit=\"%s\">\n<figcaption><h3>", p->x_label);
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
    put_axes(to, &l, p->x_label, true);
    fprintf(to, "\n<svg viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\" tabindex=\"0\" role=\"img\" ", WIDE, HIGH);
    put_label(to, p);
    fputs(">\n", to);
    put_axes(to, &l, p->x_label, false);
    for (int k = 0; k < p->curves; k++) put_curve(to, &l, &p->curve[k], k);
    fprintf(to, "<path class=\"cursor\" d=\"M-9 0V%d\"/>\n</svg></div>\n", HIGH);
    if (l.cut)
        fprintf(to, "<p class=\"note\">The axis ends at %.3g; the largest mean is %.4g.</p>\n", l.y.high, l.largest);
    fputs("<p class=\"value\" role=\"status\"></p>\n", to);
    put_values(to, p, &l);
    fputs("</figure>\n", to);
}
