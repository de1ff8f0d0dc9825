/* `dcgan curves RUN...`: the losses of several runs in one picture, to compare them. A run is its directory, or a
 * file with the columns of log.csv from another program (scripts/bench-numpy.py writes such). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/atomic.h"
#include "host/cli/commands.h"
#include "host/run/log_text.h"
#include "host/figure/pictures.h"

enum { MOST = 7, WIDTH = 900, HEIGHT = 760, WINDOWS = 40 };

typedef struct {
    char label[80];
    long n, means;
    double *memory;
    double *step, *loss[2], *mean_step, *mean[2]; /* of D and of G; means over windows of equal length */
} run;

/* A name for the legend: of the directory, of the file without what such files end in. */
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
    r->memory = malloc(((size_t)rows + WINDOWS) * 3 * sizeof *r->memory);
    if (!r->memory) return dg_fail(DG_DEVICE, "%s: out of memory for %ld steps", path, rows);
    r->step = r->memory;
    r->loss[0] = r->step + rows;
    r->loss[1] = r->loss[0] + rows;
    r->mean_step = r->loss[1] + rows;
    r->mean[0] = r->mean_step + WINDOWS;
    r->mean[1] = r->mean[0] + WINDOWS;
    return DG_OK;
}

static void take_means(run *r)
{
    r->means = r->n < WINDOWS ? r->n : WINDOWS;
    for (long w = 0; w < r->means; w++) {
        const long begin = r->n * w / r->means, end = r->n * (w + 1) / r->means;
        double sum[3] = {0};
        for (long i = begin; i < end; i++) {
            sum[0] += r->step[i];
            sum[1] += r->loss[0][i];
            sum[2] += r->loss[1][i];
        }
        r->mean_step[w] = sum[0] / (double)(end - begin);
        r->mean[0][w] = sum[1] / (double)(end - begin);
        r->mean[1][w] = sum[2] / (double)(end - begin);
    }
}

static dg_err parse(run *r, char *text, const char *path)
{
    const size_t header = strlen(dg_log_header);
    if (strncmp(text, dg_log_header, header) != 0)
        return dg_fail(DG_USAGE, "%s: its first line is not that of a log.csv of ours", path);
    long rows = 0;
    for (const char *c = text; (c = strchr(c, '\n')); c++) rows++;
    dg_err e = reserve(r, rows, path);
    char *line = text + header, *end;
    /* a torn last line, without its end, is left out */
    for (long number = 2; !e && (end = strchr(line, '\n')); number++, line = end + 1) {
        dg_log_row row;
        *end = 0;
        if (!dg_log_parse(line, &row)) return dg_fail(DG_USAGE, "%s:%ld: is not a row of a log of ours", path, number);
        r->step[r->n] = (double)row.step;
        r->loss[0][r->n] = row.value[DG_LOSS_D_REAL] + row.value[DG_LOSS_D_FAKE];
        r->loss[1][r->n++] = row.value[DG_LOSS_G];
    }
    if (!e && !r->n) e = dg_fail(DG_USAGE, "%s: holds no steps yet", path);
    if (!e) take_means(r);
    return e;
}

static dg_err read_run(run *r, const char *operand)
{
    char path[4096];
    struct stat st;
    const bool directory = stat(operand, &st) == 0 && S_ISDIR(st.st_mode);
    if (snprintf(path, sizeof path, "%s%s", operand, directory ? "/log.csv" : "") >= (int)sizeof path)
        return dg_fail(DG_IO, "a path of %zu bytes: too long", strlen(operand));
    name_run(r, operand);
    void *text = NULL;
    size_t bytes;
    dg_err e = dg_read_file(path, (size_t)1 << 32, &text, &bytes);
    if (!e) e = parse(r, text, path);
    free(text);
    return e;
}

/* Colours that people with any colour vision tell apart: Okabe & Ito 2008. */
static const uint8_t color[MOST][3] = {{0, 114, 178},  {213, 94, 0},  {0, 158, 115}, {204, 121, 167},
                                       {86, 180, 233}, {230, 159, 0}, {45, 48, 56}};

static dg_err draw(const run *r, int runs, dg_image *out)
{
    dg_series series[2][2 * MOST];
    dg_plot plot[2] = {{.title = "Loss of D", .y_label = "cross entropy"},
                       {.title = "Loss of G", .y_label = "cross entropy", .x_label = "step"}};
    for (int side = 0; side < 2; side++) {
        for (size_t i = 0; i < (size_t)runs; i++) {
            dg_series *thick = &series[side][2 * i], *thin = thick + 1;
            *thick = (dg_series){.label = r[i].label, .n = (int)r[i].means, .x = r[i].mean_step, .y = r[i].mean[side]};
            *thin = (dg_series){.n = (int)r[i].n, .x = r[i].step, .y = r[i].loss[side], .thin = true};
            memcpy(thick->color, color[i], 3);
            memcpy(thin->color, color[i], 3);
        }
        plot[side].series = series[side];
        plot[side].count = 2 * runs;
    }
    return dg_plots_draw(plot, 2, WIDTH, HEIGHT, out);
}

int dg_cmd_curves(const dg_options *o)
{
    run *r = calloc(MOST, sizeof *r);
    dg_image image = {0};
    dg_err e = r ? DG_OK : dg_fail(DG_DEVICE, "out of memory");
    if (!e && o->operands > MOST)
        e = dg_fail(DG_USAGE, "curves of %d runs: at most %d in one picture", o->operands, MOST);
    for (int i = 0; i < o->operands && !e; i++) e = read_run(&r[i], o->operand[i]);
    if (!e) e = draw(r, o->operands, &image);
    if (!e) e = dg_png_write(o->out, &image, &(dg_text){"Software", dg_version}, 1);
    if (!e && !o->quiet) dg_say("%s: %d run%s", o->out, o->operands, o->operands == 1 ? "" : "s");
    for (int i = 0; r && i < o->operands && i < MOST; i++) free(r[i].memory);
    free(image.pixels);
    free(r);
    return (int)e;
}
