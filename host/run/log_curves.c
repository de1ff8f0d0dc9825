#include "host/run/log_curves.h"

#include <math.h>
#include <stdio.h>

enum { FEW_EPOCHS = 8, FEW_POINTS = 100 };

/* Set *longest to the number of rows of the longest epoch, the assumed length of incomplete epochs. */
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

bool dg_curve_by_epochs(const dg_run_log *run)
{
    return run->n > 0 && run->row[run->n - 1].epoch - run->row[0].epoch >= FEW_EPOCHS;
}

static uint64_t rounded_up(uint64_t a, uint64_t b) { return (a + b - 1) / b; }

/* Mean and range of consecutive log rows with equal key. */
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

static void end_point(dg_curve *c, window *w)
{
    if (!w->n) return;
    c->x[c->points] = w->x / (double)w->n;
    c->y[c->points++] = w->y / (double)w->n;
}

static void end_bin(dg_curve *c, window *w)
{
    if (!w->n) return;
    c->at[c->bins] = w->x / (double)w->n;
    c->low[c->bins] = w->low;
    c->high[c->bins++] = w->high;
}

static double value_of(const dg_metric *m, int logged, const dg_log_row *row)
{
    return m ? dg_metric_value(m, row->value) : row->judged ? row->measure[logged] : NAN;
}

void dg_curve_add(dg_chart *p, const char *label, const dg_run_log *run, const dg_metric *m, int logged)
{
    const dg_log_row *row = run->row;
    dg_curve *c = &p->curve[p->curves++];
    uint64_t values = 0, at = 0;
    snprintf(c->label, sizeof c->label, "%s", label);
    c->points = c->bins = 0;
    for (long i = 0; i < run->n; i++) values += isnan(value_of(m, logged, &row[i])) ? 0 : 1;
    if (!values) return;
    const bool test = !m || m->over == DG_OVER_TEST, epochs = p->epochs && !test;
    const uint64_t most = p->epochs || test ? DG_CHART_POINTS : FEW_POINTS,
                   size = rounded_up(epochs ? row[run->n - 1].epoch - row[0].epoch + 1 : values, most),
                   bin = values / 4 < DG_CHART_BINS ? 4 : rounded_up(values, DG_CHART_BINS);
    window point = {0}, step = {0};
    for (long i = 0; i < run->n; i++) {
        const double y = value_of(m, logged, &row[i]);
        if (isnan(y)) continue;
        const uint64_t k = (epochs ? row[i].epoch - row[0].epoch : at) / size, b = at / bin;
        if (point.key != k) end_point(c, &point), point = (window){.key = k};
        if (step.key != b && !test) end_bin(c, &step), step = (window){.key = b};
        add(&point, run->x[i], y);
        if (!test) add(&step, run->x[i], y);
        at++;
    }
    end_point(c, &point);
    end_bin(c, &step);
}

void dg_run_chart(dg_chart *p, const dg_run_log *run, int i)
{
    const dg_recipe *r = run->recipe;
    const dg_recipe_plot *of = &r->plot[i];
    *p = (dg_chart){.x_label = "epoch", .y_max = of->y_max};
    snprintf(p->title, sizeof p->title, "%s", of->title);
    p->epochs = dg_curve_by_epochs(run);
    for (int k = 0; k < r->metrics && p->curves < DG_CHART_CURVES; k++)
        if (r->metric[k].legend && r->metric[k].plot == i) dg_curve_add(p, r->metric[k].legend, run, &r->metric[k], 0);
}
