/* `dcgan curves RUN...`: draws losses of several run directories or CSV files in one figure. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/file_io.h"
#include "core/base/plural.h"
#include "host/cli/commands.h"
#include "host/cli/outputs.h"
#include "host/rundir/log_text.h"
#include "host/figure/images.h"
#include "host/run/log_curves.h"

enum { METRICS = 4, HEIGHT = 380 };

typedef struct {
    char label[80];
    const dg_recipe *recipe;
    long n;
    dg_log_row *row;
    double *step; /* (n) */
} run;

static void name_run(run *r, const char *path)
{
    static const char *const ends[] = {".csv", "-losses", "-log"};
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/') n--;
    size_t from = n;
    while (from > 0 && path[from - 1] != '/') from--;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        const size_t m = strlen(ends[i]);
        if (n - from > m && memcmp(path + n - m, ends[i], m) == 0) n -= m;
    }
    snprintf(r->label, sizeof r->label, "%.*s", (int)(n - from), path + from);
}

static dg_err parse(run *r, char *text, const char *path)
{
    size_t header;
    long bad;
    r->recipe = dg_log_recipe(text, &header);
    if (!r->recipe)
        return dg_fail(DG_USAGE, DG_MSG("curves-not-a-log", "%s:1: not a dcgan log (unexpected header)"), path);
    r->row = dg_log_rows_in(text, header, r->recipe, &r->n, &bad);
    if (!r->row) return dg_fail(DG_DEVICE, "%s: out of memory for the rows of its log", path);
    if (bad)
        return dg_fail(DG_USAGE, DG_MSG("curves-bad-row", "%s:%ld: not a row of a dcgan log, or out of order"), path,
                       bad);
    if (!r->n) return dg_fail(DG_USAGE, DG_MSG("curves-no-steps", "%s: the log has no training steps yet"), path);
    r->step = malloc((size_t)r->n * sizeof *r->step);
    if (!r->step) return dg_fail(DG_DEVICE, "%s: out of memory for %ld steps", path, r->n);
    for (long i = 0; i < r->n; i++) r->step[i] = (double)r->row[i].step;
    return DG_OK;
}

static dg_err read_run(run *r, const char *operand)
{
    char path[4096];
    struct stat st;
    const bool directory = stat(operand, &st) == 0 && S_ISDIR(st.st_mode);
    if (snprintf(path, sizeof path, "%s%s", operand, directory ? "/log.csv" : "") >= (int)sizeof path)
        return dg_fail(DG_IO, "path: too long (%zu bytes)", strlen(operand));
    name_run(r, operand);
    void *text = NULL;
    size_t bytes;
    dg_err e = dg_read_text(-1, path, false, DG_LOG_BYTES, &text, &bytes);
    if (!e) e = parse(r, text, path);
    free(text);
    return e;
}

static bool add_runs(dg_chart *p, const run *r, int runs, const dg_metric *m, int logged)
{
    bool any = false;
    for (int i = 0; i < runs; i++) {
        const dg_run_log log = {r[i].recipe, r[i].row, r[i].step, r[i].n};
        dg_curve_add(p, r[i].label, &log, m, logged);
        any |= p->curve[i].points > 0;
    }
    return any;
}

static dg_err draw(const run *r, int runs, dg_image *out)
{
    dg_chart *chart = calloc(METRICS + DG_LOGGED, sizeof *chart);
    int n = 0;
    if (!chart) return dg_fail(DG_DEVICE, "out of memory for the curves");
    for (int k = 0; k < r->recipe->metrics && n < METRICS; k++) {
        const dg_metric *m = &r->recipe->metric[k];
        if (!m->title) continue;
        chart[n].y_label = r->recipe->plot[m->plot].y_label;
        snprintf(chart[n].title, sizeof chart[n].title, "%s", m->title);
        add_runs(&chart[n++], r, runs, m, 0);
    }
    for (int k = 0; k < DG_LOGGED; k++) {
        chart[n] = (dg_chart){0};
        snprintf(chart[n].title, sizeof chart[n].title, "%s", dg_logged[k].label);
        n += add_runs(&chart[n], r, runs, NULL, k);
    }
    chart[n - 1].x_label = "step";
    const dg_err e = dg_charts_draw(chart, n, NULL, HEIGHT, out);
    free(chart);
    return e;
}

int dg_cmd_curves(const dg_options *o)
{
    run *r = calloc(DG_CHART_CURVES, sizeof *r);
    dg_image image = {0};
    dg_err e = r ? DG_OK : dg_fail(DG_DEVICE, "out of memory");
    if (!e && (o->operands < 1 || o->operands > DG_CHART_CURVES))
        e = dg_fail(DG_USAGE, "curves: %d runs (expected 1 to %d)", o->operands, DG_CHART_CURVES);
    for (int i = 0; i < o->operands && !e; i++) e = read_run(&r[i], o->operand[i]);
    for (int i = 1; i < o->operands && !e; i++)
        if (dg_recipe_base(r[i].recipe) != dg_recipe_base(r->recipe))
            e = dg_fail(DG_USAGE, "%s: cannot be compared with %s (one is a GAN, the other a classifier)",
                        o->operand[i], o->operand[0]);
    if (!e) e = draw(r, o->operands, &image);
    if (!e) e = dg_png_write(o->out, &image, &(dg_text){"Software", dg_version}, 1);
    if (!e && !o->quiet) dg_say("%s: %d run%s", dg_output_name(o->out), o->operands, dg_s(o->operands));
    for (int i = 0; r && i < o->operands && i < DG_CHART_CURVES; i++) {
        free(r[i].row);
        free(r[i].step);
    }
    free(image.pixels);
    free(r);
    return (int)e;
}
