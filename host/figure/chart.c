#include "host/figure/chart.h"

#include <math.h>
#include <stdio.h>

#include "core/base/sort.h"

/* Differences of values beyond 1e100 may overflow. */
static bool shows(double v) { return isfinite(v) && fabs(v) < 1e100; }

static void set_step(dg_axis *a, int most)
{
    static const double factor[] = {1, 2, 5, 10, 20};
    const double size = a->high - a->low, power = pow(10, floor(log10(size / most)));
    int i = 0;
    while (i < 4 && size / (factor[i] * power) > most + 1e-9) i++;
    a->step = factor[i] * power;
}

int dg_axis_ticks(const dg_axis *a, double v[DG_AXIS_TICKS])
{
    int n = 0;
    const double first = ceil(a->low / a->step - 1e-9);
    for (; n < DG_AXIS_TICKS && (first + n) * a->step <= a->high + 1e-9 * a->step; n++)
        v[n] = (first + n) * a->step + 0.;
    return n;
}

void dg_axis_label(char out[40], const dg_axis *a, double v)
{
    const int decimals = (int)-floor(log10(a->step) + 1e-9);
    const double size = fmax(fabs(v), a->step);
    if (fabs(v) < a->step * 1e-6) v = 0; /* avoid "-0" and "1e-17" as labels of 0 */
    if (size >= 1e6 || a->step < 1e-5)
        snprintf(out, 40, "%.*g", (int)fmin(12, fmax(1, floor(log10(size)) + decimals + 1)), v);
    else snprintf(out, 40, "%.*f", decimals > 0 ? decimals : 0, v);
}

double dg_axis_part(const dg_axis *a, double v)
{
    const double part = (v - a->low) / (a->high - a->low);
    return part > 2 ? 2 : part >= -1 ? part : -1;
}

/* Extend the axis to ticks that are close: 0.01 .. 99.9 becomes 0 .. 100. */
static void round_ends(dg_axis *a)
{
    const double low = floor(a->low / a->step) * a->step, high = ceil(a->high / a->step) * a->step;
    if (a->low - low < .15 * a->step) a->low = low;
    if (high - a->high < .15 * a->step) a->high = high;
}

static void widen(dg_axis *a)
{
    const double size = fmax(fabs(a->low), fabs(a->high)), half = fmax(size / 2, .5);
    if (a->high - a->low >= fmax(1e-9 * size, 1e-100)) return;
    a->low -= half;
    a->high += half;
}

static void fit_y(const dg_chart *p, dg_layout *l)
{
    int n = 0;
    double all[DG_CHART_CURVES * DG_CHART_POINTS];
    dg_axis *a = &l->y;
    for (int k = 0; k < p->curves; k++)
        for (int i = 0; i < p->curve[k].points; i++)
            if (shows(p->curve[k].y[i])) all[n++] = p->curve[k].y[i];
    if (n) {
        dg_sort(all, n);
        const double most = all[n - 1 - n / 40];
        a->low = all[0] < 0 || all[0] > most / 2 ? all[0] : 0;
        l->largest = all[n - 1];
        l->cut = most > 0 && l->largest > 4 * most;
        a->high = l->cut ? 1.5 * most : l->largest;
    }
    if (p->y_max > 0) a->low = 0, a->high = p->y_max, l->cut = false;
    if (!(a->high > a->low)) a->high = a->low + 1;
    widen(a);
    const double room = p->y_max > 0 ? 0 : (a->high - a->low) / 20;
    if (a->low != 0) a->low -= room;
    a->high += room;
}

dg_layout dg_chart_layout(const dg_chart *p, int x_ticks, int y_ticks)
{
    dg_layout l = {.x = {.low = INFINITY, .high = -INFINITY}, .y = {.high = 1}};
    fit_y(p, &l);
    for (int k = 0; k < p->curves; k++) {
        const dg_curve *c = &p->curve[k];
        if (c->points) l.x.low = fmin(l.x.low, c->x[0]), l.x.high = fmax(l.x.high, c->x[c->points - 1]);
        if (c->bins) l.x.low = fmin(l.x.low, c->at[0]), l.x.high = fmax(l.x.high, c->at[c->bins - 1]);
    }
    if (!(l.x.high > l.x.low)) l.x.low = isfinite(l.x.low) ? l.x.low - .5 : 0, l.x.high = l.x.low + 1;
    widen(&l.x);
    set_step(&l.x, x_ticks);
    round_ends(&l.x);
    set_step(&l.y, y_ticks);
    return l;
}
