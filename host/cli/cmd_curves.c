/* `dcgan curves RUN...`: losses of several runs in one figure. RUN is a run directory, or a CSV file with the columns
 * of log.csv. */
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

enum { MOST = 7, METRICS = 4, PLOTS = METRICS + DG_LOGGED, WIDTH = 900, HEIGHT = 380, WINDOWS = 40 };

typedef struct {
    char label[80];
    const dg_recipe *recipe;
    long n;
    double *memory;
    double *column[1 + PLOTS]; /* steps, then compared metrics; logged metrics from index 1 + METRICS on */
    /* Means over windows with equal numbers of values, and the mean steps of the windows. Rows without a value are
     * skipped, because tests and logged metrics have at most one value per epoch. */
    struct {
        long n;
        double *step, *value;
    } mean[PLOTS];
} run;

static int compared(const dg_recipe *r, const dg_metric *out[METRICS])
{
    int n = 0;
    for (int i = 0; i < r->metrics && n < METRICS; i++)
        if (r->metric[i].title) out[n++] = &r->metric[i];
    return n;
}

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

static dg_err reserve(run *r, long rows, const char *path)
{
    r->memory = malloc(((size_t)rows * (1 + PLOTS) + (size_t)2 * WINDOWS * PLOTS) * sizeof *r->memory);
    if (!r->memory) return dg_fail(DG_DEVICE, "%s: out of memory for %ld steps", path, rows);
    for (int k = 0; k <= PLOTS; k++) r->column[k] = r->memory + k * rows;
    for (int k = 0; k < PLOTS; k++) {
        r->mean[k].step = r->memory + (1 + PLOTS) * rows + (ptrdiff_t)(2 * k) * WINDOWS;
        r->mean[k].value = r->mean[k].step + WINDOWS;
    }
    return DG_OK;
}

static bool counts(const run *r, const dg_metric *m, int k, long row)
{
    return (m && m->over != DG_OVER_TEST) || !isnan(r->column[1 + k][row]);
}

static void take_means(run *r, const dg_metric *m, int k)
{
    long values = 0, at = 0;
    for (long i = 0; i < r->n; i++) values += counts(r, m, k, i);
    r->mean[k].n = values < WINDOWS ? values : WINDOWS;
    for (long w = 0, i = 0; w < r->mean[k].n; w++) {
        const long begin = at, end = values * (w + 1) / r->mean[k].n;
        double step = 0, value = 0;
        for (; at < end; i++) {
            if (!counts(r, m, k, i)) continue;
            step += r->column[0][i];
            value += r->column[1 + k][i];
            at++;
        }
        r->mean[k].step[w] = step / (double)(end - begin);
        r->mean[k].value[w] = value / (double)(end - begin);
    }
}

static dg_err parse(run *r, char *text, const char *path)
{
    size_t header;
    const dg_metric *metric[METRICS];
    r->recipe = dg_log_recipe(text, &header);
    if (!r->recipe)
        return dg_fail(DG_USAGE, DG_MSG("curves-not-a-log", "%s:1: not a dcgan log (unexpected header)"), path);
    const int metrics = compared(r->recipe, metric);
    long rows, bad;
    dg_log_row *row = dg_log_rows_in(text, header, r->recipe, &rows, &bad);
    dg_err e = !row  ? dg_fail(DG_DEVICE, "%s: out of memory for its steps", path)
               : bad ? dg_fail(DG_USAGE, DG_MSG("curves-bad-row", "%s:%ld: not a row of a dcgan log, or out of order"),
                               path, bad)
                     : reserve(r, rows, path);
    for (long i = 0; i < rows && !e; i++) {
        r->column[0][i] = (double)row[i].step;
        for (int k = 0; k < metrics; k++) r->column[1 + k][i] = dg_metric_value(metric[k], row[i].value);
        for (int k = 0; k < DG_LOGGED; k++) r->column[1 + METRICS + k][i] = row[i].judged ? row[i].measure[k] : NAN;
        r->n++;
    }
    free(row);
    if (!e && !r->n) e = dg_fail(DG_USAGE, DG_MSG("curves-no-steps", "%s: has no steps yet"), path);
    for (int k = 0; k < metrics && !e; k++) take_means(r, metric[k], k);
    for (int k = METRICS; k < PLOTS && !e; k++) take_means(r, NULL, k);
    return e;
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

/* Colours that colour-blind readers can distinguish (Okabe & Ito 2008). */
static const uint8_t color[MOST][3] = {{0, 114, 178},  {213, 94, 0},  {0, 158, 115}, {204, 121, 167},
                                       {86, 180, 233}, {230, 159, 0}, {45, 48, 56}};

/* Add the series of all runs for column k. Returns false if no run has values. */
static bool add_runs(const run *r, int runs, int k, dg_series series[2 * MOST])
{
    bool any = false;
    for (size_t i = 0; i < (size_t)runs; i++) {
        const run *of = &r[i];
        dg_series *thick = &series[2 * i], *thin = thick + 1;
        *thick =
            (dg_series){.label = of->label, .n = (int)of->mean[k].n, .x = of->mean[k].step, .y = of->mean[k].value};
        *thin = (dg_series){.n = (int)of->n, .x = of->column[0], .y = of->column[1 + k], .thin = true};
        memcpy(thick->color, color[i], 3);
        memcpy(thin->color, color[i], 3);
        any |= of->mean[k].n > 0;
    }
    return any;
}

static dg_err draw(const run *r, int runs, dg_image *out)
{
    const dg_metric *metric[METRICS];
    const int metrics = compared(r->recipe, metric);
    dg_series series[PLOTS][2 * MOST];
    dg_plot plot[PLOTS];
    int plots = 0;
    for (int k = 0; k < metrics; k++, plots++) {
        add_runs(r, runs, k, series[plots]);
        plot[plots] = (dg_plot){.title = metric[k]->title, .y_label = r->recipe->plot[metric[k]->plot].y_label};
    }
    for (int k = 0; k < DG_LOGGED; k++)
        if (add_runs(r, runs, METRICS + k, series[plots])) plot[plots++] = (dg_plot){.title = dg_logged[k].label};
    for (int k = 0; k < plots; k++) {
        plot[k].series = series[k];
        plot[k].count = 2 * runs;
    }
    plot[plots - 1].x_label = "step";
    return dg_plots_draw(plot, plots, WIDTH, HEIGHT * plots, out);
}

int dg_cmd_curves(const dg_options *o)
{
    run *r = calloc(MOST, sizeof *r);
    dg_image image = {0};
    dg_err e = r ? DG_OK : dg_fail(DG_DEVICE, "out of memory");
    if (!e && (o->operands < 1 || o->operands > MOST))
        e = dg_fail(DG_USAGE, "curves: %d runs (expected 1 to %d)", o->operands, MOST);
    for (int i = 0; i < o->operands && !e; i++) e = read_run(&r[i], o->operand[i]);
    for (int i = 1; i < o->operands && !e; i++)
        if (r[i].recipe != r->recipe)
            e = dg_fail(DG_USAGE, "%s: not the same kind of training as %s", o->operand[i], o->operand[0]);
    if (!e) e = draw(r, o->operands, &image);
    if (!e) e = dg_png_write(o->out, &image, &(dg_text){"Software", dg_version}, 1);
    if (!e && !o->quiet) dg_say("%s: %d run%s", dg_output_name(o->out), o->operands, dg_s(o->operands));
    for (int i = 0; r && i < o->operands && i < MOST; i++) free(r[i].memory);
    free(image.pixels);
    free(r);
    return (int)e;
}
