#include "host/run/log_curves.h"
#include "host/figure/draw.h"

#include <math.h>
#include <stdlib.h>

enum { WIDTH = 900, HEADLINE = 34, FOOTLINE = 24, PLOT = 314 };
/* Maximum number of plots that follow the recipe's plots: one for each distance, and one for all shares and ratios. */
enum { MEASURED_MOST = DG_LOGGED };

typedef struct {
    const dg_recipe *recipe;
    long n, epochs;
    double *memory;
    double *x, *mean_x; /* positions of steps, and of epochs; each is followed by the values of all metrics */
    long judged;
    double *judged_x; /* their positions, then the values of each metric; NaN: not measured */
} curves;

static double *values_of(const curves *c, int metric) { return c->x + c->n * (metric + 1); }
static double *means_of(const curves *c, int metric) { return c->mean_x + c->epochs * (metric + 1); }
static double *measures_of(const curves *c, int k) { return c->judged_x + c->judged * (k + 1); }

/* *longest: the expected length of an unfinished epoch. */
static void count_epochs(const dg_log_row *rows, long n, long *epochs, long *longest)
{
    *epochs = *longest = 0;
    for (long i = 0, begin = 0; i < n; i++) {
        if (i == 0 || rows[i].epoch != rows[i - 1].epoch) {
            begin = i;
            ++*epochs;
        }
        if (i - begin + 1 > *longest) *longest = i - begin + 1;
    }
}

void dg_curve_places(const dg_log_row *rows, long n, double *x)
{
    long epochs, longest;
    count_epochs(rows, n, &epochs, &longest);
    for (long begin = 0, end; begin < n; begin = end) {
        for (end = begin; end < n && rows[end].epoch == rows[begin].epoch; end++) {}
        const bool last = end == n, first = begin == 0;
        const double steps = last || first ? (double)longest : (double)(end - begin);
        const double start = (double)rows[begin].epoch - 1;
        const double skipped = first && !last ? steps - (double)(end - begin) : 0;
        for (long i = begin; i < end; i++) x[i] = start + ((double)(i - begin) + skipped + .5) / steps;
    }
}

static bool has_measures(const dg_log_row *row)
{
    bool any = false;
    for (int k = 0; k < DG_LOGGED && row->judged; k++) any |= !isnan(row->measure[k]);
    return any;
}

static void collect_measures(const dg_log_row *rows, long n, curves *c)
{
    for (long i = 0, at = 0; i < n; i++) {
        if (!has_measures(&rows[i])) continue;
        c->judged_x[at] = c->x[i];
        for (int k = 0; k < DG_LOGGED; k++) measures_of(c, k)[at] = rows[i].measure[k];
        at++;
    }
}

static dg_err collect(const dg_log_row *rows, long n, curves *c)
{
    long longest;
    const dg_recipe *r = c->recipe;
    c->n = n;
    count_epochs(rows, n, &c->epochs, &longest);
    for (long i = 0; i < n; i++) c->judged += has_measures(&rows[i]);
    size_t each = (size_t)n, total = (each + (size_t)c->epochs) * (size_t)(r->metrics + 1);
    total += (size_t)c->judged * (DG_LOGGED + 1);
    c->memory = malloc((total ? total : 1) * sizeof(double));
    if (!c->memory) return dg_fail(DG_DEVICE, "curves: out of memory for %ld steps", n);
    c->x = c->memory;
    c->mean_x = c->x + n * (r->metrics + 1);
    c->judged_x = c->mean_x + c->epochs * (r->metrics + 1);
    dg_curve_places(rows, n, c->x);
    collect_measures(rows, n, c);
    for (long i = 0; i < n; i++)
        for (int k = 0; k < r->metrics; k++) values_of(c, k)[i] = dg_metric_value(&r->metric[k], rows[i].value);
    long epoch = 0;
    for (long begin = 0, end; begin < n; begin = end, epoch++) {
        for (end = begin; end < n && rows[end].epoch == rows[begin].epoch; end++) {}
        c->mean_x[epoch] = (c->x[begin] + c->x[end - 1]) / 2;
        for (int k = 0; k < r->metrics; k++) {
            double sum = 0;
            for (long i = begin; i < end; i++) sum += values_of(c, k)[i];
            means_of(c, k)[epoch] = r->metric[k].over == DG_OVER_TEST ? values_of(c, k)[end - 1]
                                                                      : sum / (double)(end - begin);
        }
    }
    return DG_OK;
}

/* Colours that colour-blind readers can distinguish (Okabe & Ito 2008). */
static const uint8_t colors[][3] = {{0, 114, 178}, {213, 94, 0}, {0, 158, 115}, {204, 121, 167}};
enum { COLORS = sizeof colors / sizeof colors[0] };

static int add_series(dg_series *out, const curves *c, int plot)
{
    int count = 0;
    for (int k = 0; k < c->recipe->metrics; k++) {
        const dg_metric *m = &c->recipe->metric[k];
        if (!m->legend || m->plot != plot) continue;
        const uint8_t *color = colors[count / 2 % COLORS];
        out[count++] = (dg_series){.label = m->legend,
                                   .color = {color[0], color[1], color[2]},
                                   .n = (int)c->epochs,
                                   .x = c->mean_x,
                                   .y = means_of(c, k)};
        const int steps = m->over == DG_OVER_TEST ? 0 : (int)c->n;
        out[count++] = (dg_series){
            .color = {color[0], color[1], color[2]}, .n = steps, .x = c->x, .y = values_of(c, k), .thin = true};
    }
    return count;
}

/* True if plot i of the logged metrics shows metric k. Each distance has its own plot; the last plot shows all other
 * metrics. */
static bool measure_in(int k, int i)
{
    int distances = 0, before = 0;
    for (int j = 0; j < DG_LOGGED; j++) {
        const dg_logged_measure *m = &dg_logged[j];
        const bool distance = !m->percent && !m->one;
        if (distance && j < k) before++;
        distances += distance;
    }
    const dg_logged_measure *m = &dg_logged[k];
    return m->percent || m->one ? i == distances : i == before;
}

static int measured_plots(const curves *c)
{
    int plots = 0;
    for (int i = 0; i < MEASURED_MOST && c->judged; i++)
        for (int k = 0; k < DG_LOGGED; k++)
            if (measure_in(k, i)) plots = i + 1;
    return plots;
}

static void measured_plot(const curves *c, int i, dg_series *series, dg_plot *out)
{
    *out = (dg_plot){.title = "Recall, coverage, and relative distance to the nearest real image", .series = series};
    for (int k = 0; k < DG_LOGGED; k++) {
        if (!measure_in(k, i)) continue;
        const dg_logged_measure *m = &dg_logged[k];
        const uint8_t *color = colors[out->count % COLORS];
        if (!m->percent && !m->one) out->title = m->label;
        series[out->count++] = (dg_series){.label = m->name,
                                           .color = {color[0], color[1], color[2]},
                                           .n = (int)c->judged,
                                           .x = c->judged_x,
                                           .y = measures_of(c, k)};
    }
}

static dg_err draw_plot(dg_canvas *canvas, const curves *c, int i, int plots, dg_series *series)
{
    dg_plot plot;
    if (i < c->recipe->plots) {
        const dg_recipe_plot *of = &c->recipe->plot[i];
        plot = (dg_plot){.title = of->title,
                         .y_label = of->y_label,
                         .series = series,
                         .count = add_series(series, c, i),
                         .fixed_y = of->y_max > 0,
                         .y_max = of->y_max};
    } else {
        measured_plot(c, i - c->recipe->plots, series, &plot);
    }
    const bool last = i == plots - 1;
    if (last) plot.x_label = "epoch";
    const int top = HEADLINE + i * PLOT;
    return dg_draw_plot(canvas, &plot, 0, top, WIDTH, top + PLOT + (last ? FOOTLINE : 0));
}

dg_err dg_curves(const dg_recipe *r, const dg_log_row *rows, long n, const char *title, dg_image *out)
{
    if (n < 0 || n > 100000000) return dg_fail(DG_USAGE, "curves: too many steps (%ld, at most 100,000,000)", n);
    curves c = {.recipe = r};
    dg_canvas canvas;
    dg_err e = collect(rows, n, &c);
    if (e) return e;
    const int plots = r->plots + measured_plots(&c);
    dg_series *series = calloc(2 * (size_t)r->metrics + DG_LOGGED, sizeof *series);
    e = series ? dg_draw_open(&canvas, WIDTH, HEADLINE + plots * PLOT + FOOTLINE)
               : dg_fail(DG_DEVICE, "curves: out of memory");
    if (!e) {
        double wide = dg_text_width(1.3, title);
        dg_draw_text(&canvas, wide < WIDTH - 40 ? (WIDTH - wide) / 2 : 20, 30, 1.3, 2, false, title);
        dg_draw_paint(&canvas, (dg_color){45, 48, 56}, 1);
        for (int i = 0; i < plots && !e; i++) e = draw_plot(&canvas, &c, i, plots, series);
        if (!e) {
            *out = canvas.im;
            canvas.im.pixels = NULL;
        }
        dg_draw_close(&canvas);
    }
    free(series);
    free(c.memory);
    return e;
}
