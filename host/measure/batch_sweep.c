#include "host/measure/batch_sweep.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/memory_file.h"
#include "host/figure/pictures.h"

int dg_sweep_after(const dg_sweep_range *r, int batch)
{
    const int next = r->step ? batch + r->step : dg_batch_after(batch);
    return next <= r->last ? next : 0;
}

enum { WIDTH = 900, HEIGHT = 380 };
enum { PASSES = 10 }; /* over all sizes: what disturbs a machine for a while falls on different ones */

void dg_sweep_free(dg_sweep *s)
{
    for (int i = 0; i < s->rows; i++) free(s->row[i].sample);
    free(s->row);
    *s = (dg_sweep){.rows = 0};
}

/* What the looks at a size have taken. */
static double seconds_of(const dg_batch_row *r)
{
    double ms = 0;
    for (int i = 0; i < r->samples; i++) ms += r->sample[i] * r->in_a_row;
    return 1e-3 * ms;
}

/* One look at each size that has not had its seconds yet; what does not fit ends the range. */
static dg_err pass(dg_batch_bench *b, dg_sweep_range *range, double seconds, dg_sweep *s)
{
    dg_err e = DG_OK;
    int i = 0;
    for (int batch = range->first; batch && !e; batch = dg_sweep_after(range, batch), i++) {
        dg_batch_row row;
        bool yes = batch <= b->data->train;
        if (i < s->rows && seconds_of(&s->row[i]) >= 0.99 * seconds) continue;
        if (yes) e = dg_batch_time(b, batch, seconds / PASSES, true, &row, &yes, s->why_not, sizeof s->why_not);
        else snprintf(s->why_not, sizeof s->why_not, "there are only %d pictures", b->data->train);
        if (!yes) range->last = batch - 1;
        if (e || !yes) continue;
        if (i < s->rows) dg_batch_merge(&s->row[i], &row);
        else s->row[s->rows++] = row;
    }
    return e;
}

dg_err dg_sweep_run(dg_batch_bench *b, const dg_sweep_range *range, double seconds, dg_sweep *s)
{
    int most = 0;
    dg_sweep_range fits = *range;
    for (int batch = range->first; batch; batch = dg_sweep_after(range, batch)) most++;
    *s = (dg_sweep){.row = calloc((size_t)most + 1, sizeof *s->row)};
    dg_err e = s->row ? DG_OK : dg_fail(DG_DEVICE, "out of memory for %d sizes", most);
    for (int i = 0; i < PASSES && !e && range->first <= fits.last; i++) e = pass(b, &fits, seconds, s);
    if (!e && !s->rows) e = dg_fail(DG_DEVICE, "batch %d: %s", range->first, s->why_not);
    return e;
}

double dg_sweep_usage(const dg_batch_row *r) { return r->utilisation >= 0 ? r->utilisation : r->busy; }

/* ---- Rules on the curve ---- */

static double ms_of(const dg_batch_row *r) { return r->ms; }

static double on_curve(const dg_sweep *s, double value(const dg_batch_row *), int batch)
{
    int i = 0;
    while (i < s->rows - 2 && s->row[i + 1].batch < batch) i++;
    const dg_batch_row *a = &s->row[i], *b = s->rows > 1 ? a + 1 : a;
    if (b->batch == a->batch) return value(a);
    return value(a) + (value(b) - value(a)) * (batch - a->batch) / (b->batch - a->batch);
}

static bool is_within(const dg_sweep *s, int batch) { return batch <= s->row[s->rows - 1].batch; }

/* In front of the first size the straight line goes on, but a step takes some time. */
static double time_on_curve(const dg_sweep *s, int batch)
{
    const dg_batch_row *first = &s->row[0];
    const double ms = on_curve(s, ms_of, batch);
    return batch < first->batch ? fmax(ms, first->ms * batch / (4.0 * first->batch)) : ms;
}

void dg_sweep_rule(const dg_sweep *s, dg_batch_rule_kind kind, int from, int pictures, dg_batch_rule *out)
{
    dg_rule_begin(out, kind, from, pictures);
    do {
        if (!is_within(s, out->batch)) {
            out->end = DG_RULE_CANNOT;
            return;
        }
    } while (dg_rule_next(out, time_on_curve(s, out->batch), on_curve(s, dg_sweep_usage, out->batch)));
}

int dg_sweep_search(const dg_sweep *s, const dg_search_limits *l)
{
    dg_search_limits within = *l;
    dg_search found;
    if (within.from < s->row[0].batch) within.from = s->row[0].batch;
    dg_search_begin(&found, &within);
    for (int batch; (batch = dg_search_next(&found, 0)) > 0;) {
        if (is_within(s, batch))
            dg_search_timed(&found, &(dg_batch_row){.batch = batch, .ms = time_on_curve(s, batch)});
        else dg_search_refused(&found, "the sweep ends before it");
    }
    const int i = dg_search_choice(&found);
    return i < 0 ? 0 : found.row[i].batch;
}

/* ---- Files ---- */

static dg_err write_text(const char *dir, const char *name, char *text, size_t bytes)
{
    char path[4096];
    if (snprintf(path, sizeof path, "%s/%s", dir, name) >= (int)sizeof path)
        return dg_fail(DG_IO, "%s: path too long", dir);
    return dg_write_atomic(path, &(dg_chunk){text, bytes}, 1);
}

static void put_rows(FILE *to, const dg_sweep *s, const dg_search_limits *l)
{
    fprintf(
        to,
        "batch,ms_step,ms_median,ms_low,ms_high,ms_picture,pictures_s,epoch_s,busy,nvml,of_peak,waits,memory_bytes\n");
    for (int i = 0; i < s->rows; i++) {
        const dg_batch_row *r = &s->row[i];
        fprintf(to, "%d,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g", r->batch, r->ms, r->median, r->low, r->high,
                r->ms / r->batch, dg_batch_rate(r), dg_batch_epoch(l, r));
        const double known[] = {r->busy, r->utilisation, r->of_peak, r->waits};
        for (int k = 0; k < 4; k++) known[k] >= 0 ? fprintf(to, ",%.4g", known[k]) : fprintf(to, ",");
        fprintf(to, ",%zu\n", r->memory);
    }
}

static void put_rules(FILE *to, const dg_sweep *s, const dg_search_limits *l, const dg_batch_rule *rule, int ours)
{
    fprintf(to, "rule,batch,round,epoch_s\n");
    for (int k = 0; k < DG_RULES; k++) {
        const int n = rule[k].rounds - 1;
        if (n >= 0)
            fprintf(to, "%s,%d,%d,%.6g\n", dg_batch_rule_name[k], dg_rule_answer(&rule[k]), n, rule[k].round[n].epoch);
    }
    const dg_batch_row r = {.batch = ours, .ms = ours ? time_on_curve(s, ours) : 0};
    if (ours) fprintf(to, "search,%d,,%.6g\n", ours, dg_batch_epoch(l, &r));
}

static dg_err write_csv(const dg_sweep *s, const dg_search_limits *l, const dg_batch_rule *rule, int ours,
                        const char *dir)
{
    dg_err e = DG_OK;
    for (int rules = 0; rules < 2 && !e; rules++) {
        dg_memory_file m;
        FILE *to = dg_memory_open(&m);
        if (to && rules) put_rules(to, s, l, rule, ours);
        if (to && !rules) put_rows(to, s, l);
        e = dg_memory_close(to, &m) ? write_text(dir, rules ? "rules.csv" : "sweep.csv", m.text, m.bytes)
                                    : dg_fail(DG_DEVICE, "out of memory for the sweep's table");
        free(m.text);
    }
    return e;
}

/* A curve and upright lines where each rule came to rest. */
static dg_err draw(const char *dir, const char *name, const char *title, const char *y_label, const double *x,
                   const double *y, int n, const dg_batch_rule *rule, int ours)
{
    static const uint8_t color[][3] = {{0, 114, 178}, {213, 94, 0}, {0, 158, 115}, {204, 121, 167}};
    char label[DG_RULES + 1][48], path[4096];
    double at[DG_RULES + 1][2], ends[2] = {y[0], y[0]};
    dg_series series[DG_RULES + 2] = {{.label = y_label, .color = {0, 114, 178}, .n = n, .x = x, .y = y}};
    int count = 1;
    for (int i = 1; i < n; i++) ends[0] = fmin(ends[0], y[i]), ends[1] = fmax(ends[1], y[i]);
    for (int k = 0; k <= DG_RULES; k++) {
        const int batch = k < DG_RULES ? dg_rule_answer(&rule[k]) : ours;
        if (!batch) continue;
        at[k][0] = at[k][1] = batch;
        snprintf(label[k], sizeof label[k], "%s: %d", k < DG_RULES ? dg_batch_rule_name[k] : "search", batch);
        series[count] = (dg_series){.label = label[k], .n = 2, .x = at[k], .y = ends};
        memcpy(series[count++].color, color[k + 1], 3);
    }
    const dg_plot plot = {.title = title, .x_label = "batch", .y_label = y_label, .series = series, .count = count};
    dg_image image = {0};
    if (snprintf(path, sizeof path, "%s/%s", dir, name) >= (int)sizeof path)
        return dg_fail(DG_IO, "%s: path too long", dir);
    dg_err e = dg_plots_draw(&plot, 1, WIDTH, HEIGHT, &image);
    if (!e) e = dg_png_write(path, &image, &(dg_text){"Software", dg_version}, 1);
    free(image.pixels);
    return e;
}

dg_err dg_sweep_write(const dg_sweep *s, const dg_search_limits *l, const dg_batch_rule *rule, int ours,
                      const char *title, const char *dir)
{
    double *x = malloc(3 * (size_t)s->rows * sizeof *x);
    if (!x) return dg_fail(DG_DEVICE, "out of memory for the sweep's figures");
    double *ms = x + s->rows, *usage = ms + s->rows;
    for (int i = 0; i < s->rows; i++) {
        x[i] = s->row[i].batch;
        ms[i] = s->row[i].ms / s->row[i].batch;
        usage[i] = dg_sweep_usage(&s->row[i]);
    }
    const bool nvml = s->row[0].utilisation >= 0;
    dg_err e = write_csv(s, l, rule, ours, dir);
    if (!e) e = draw(dir, "time.png", title, "ms a picture", x, ms, s->rows, rule, ours);
    if (!e) e = draw(dir, "usage.png", title, nvml ? "NVML, %" : "busy, %", x, usage, s->rows, rule, ours);
    free(x);
    return e;
}
