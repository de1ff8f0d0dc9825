#include "host/cli/batch_report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "core/base/memory_file.h"
#include "host/cli/say.h"
#include "host/figure/images.h"
#include "host/files/json.h"
#include "host/files/json_text.h"

#define NOTABLE 0.05 /* share of step time above which a note is printed */
enum { WIDTH = 900, HEIGHT = 380 };

typedef struct {
    dg_batch_row r;
    double batch, looks, rate, gain, epoch, steps, ms_image;
} line;

/* Names of the columns in text (head), JSON and CSV. NULL: the format lacks the column. */
#define AT(member) offsetof(line, member)
static const struct {
    size_t at;
    const char *json, *csv, *head, *format;
    int width;
    double scale;
} column[] = {{AT(batch), "batch", "batch", "batch", "%7.0f", 7, 1},
              {AT(r.ms), "ms", "ms_step", "ms/step", " %9.4g", 10, 1},
              {AT(r.median), "ms_median", "ms_median", NULL, NULL, 0, 1},
              {AT(r.low), "ms_low", "ms_low", NULL, NULL, 0, 1},
              {AT(r.high), "ms_high", "ms_high", NULL, NULL, 0, 1},
              {AT(ms_image), NULL, "ms_picture", NULL, NULL, 0, 1},
              {AT(rate), "images_per_s", "pictures_s", "images/s", " %10.1f", 11, 1},
              {AT(rate), "pictures_per_s", NULL, NULL, NULL, 0, 1}, /* key before 0.1.0 */
              {AT(gain), NULL, NULL, "gain", " %+6.1f%%", 8, 100},
              {AT(epoch), "epoch_s", "epoch_s", "epoch", " %7.4g s", 10, 1},
              {AT(r.memory), "memory_bytes", "memory_bytes", "memory", " %6.1f MB", 10, 1e-6},
              {AT(steps), "steps_per_epoch", NULL, "steps", " %7.0f", 8, 1},
              {AT(steps), "steps_an_epoch", NULL, NULL, NULL, 0, 1}, /* key before 0.1.0 */
              {AT(looks), "looks", NULL, NULL, NULL, 0, 1},
              {AT(r.busy), "busy_percent", "busy", "busy", " %7.1f%%", 9, 1},
              {AT(r.nvml), "nvml_percent", "nvml", "NVML", " %7.1f%%", 9, 1},
              {AT(r.of_peak), "percent_of_peak", "of_peak", "of peak", " %7.1f%%", 9, 1}};
enum { COLUMNS = sizeof column / sizeof *column };

static line line_of(const dg_batch_found *f, int i)
{
    const dg_search_limits *l = f->limits;
    const dg_batch_row *r = &f->row[i];
    const int images = l->drop_last ? l->images - l->images % r->batch : l->images;
    return (line){.r = *r,
                  .batch = r->batch,
                  .looks = r->looks,
                  .rate = dg_batch_rate(r),
                  .gain = i ? dg_batch_rate(r) / dg_batch_rate(r - 1) - 1 : NAN,
                  .epoch = 1e-3 * r->ms * images / r->batch,
                  .steps = dg_batch_updates(l, r->batch),
                  .ms_image = r->ms / r->batch};
}

static double value(const line *l, int c) { return *(const double *)(const void *)((const char *)l + column[c].at); }

static bool is_known(const dg_batch_found *f, int c)
{
    for (int i = 0; i < f->rows; i++) {
        const line l = line_of(f, i);
        if (!isnan(value(&l, c))) return true;
    }
    return false;
}

void dg_batch_print_head(const dg_batch_bench *b)
{
    const dg_backend *d = b->backend;
    dg_say("%s, %s on %s: %d images", b->model->name, dg_precision_name(d->real, d->math), d->name, b->data->train);
    if (strstr(d->name, "Simulated")) dg_say("This GPU is simulated; ignore the times below.");
    printf("\n");
}

static void print_notes(const dg_batch_found *f)
{
    const dg_batch_bench *b = f->bench;
    double longer = 0;
    bool nvml = false;
    for (int i = 0; i < f->rows; i++) {
        longer = fmax(longer, f->row[i].median / f->row[i].ms - 1);
        nvml = nvml || !isnan(f->row[i].nvml);
    }
    if (longer > NOTABLE)
        printf("ms/step: 10th percentile of the step times; their median is up to %.0f%% longer.\n", 100 * longer);
    if (nvml) printf("NVML: \"utilisation\": share of the time in which any kernel ran.\n");
    if (b->machine.foreign > 0.1 && b->backend->threads)
        printf("Other programs used %.2f cores; times on an idle machine may be shorter.\n", b->machine.foreign);
}

void dg_batch_print(const dg_batch_found *f)
{
    for (int i = -1; i < f->rows; i++) {
        line l = {0};
        if (i >= 0) l = line_of(f, i);
        if (f->rows) printf("%c", i >= 0 && i == f->chosen ? '*' : ' ');
        for (int c = 0; c < COLUMNS && f->rows; c++) {
            if (!column[c].head || !is_known(f, c)) continue;
            if (i < 0) printf("%*s", column[c].width, column[c].head);
            else if (isnan(value(&l, c))) printf("%*s", column[c].width, "-");
            else printf(column[c].format, column[c].scale * value(&l, c));
        }
        if (f->rows) printf("\n");
    }
    print_notes(f);
}

void dg_rule_print_round(const dg_batch_rule *r)
{
    const bool usage = r->kind == DG_RULE_USAGE;
    const dg_rule_round *now = &r->round[r->rounds - 1];
    if (r->rounds == 1)
        printf("  %6s %6s %9s %9s  %s\n", "round", "batch", "ms/step", "epoch", usage ? "usage" : "gain");
    printf("  %6d %6d %9.4g %7.4g s %6.2f%%\n", r->rounds - 1, now->batch, now->ms, now->epoch,
           usage ? now->usage : 100 * now->gain);
    (void)fflush(stdout);
}

void dg_rule_sentence(const dg_batch_rule *r, char *out, size_t size)
{
    const char *name = dg_batch_rule_name[r->kind];
    const dg_rule_round *last = &r->round[r->rounds ? r->rounds - 1 : 0];
    char end[80] = "";
    if (r->end == DG_RULE_CANNOT) snprintf(end, sizeof end, "; the next batch size, %d, does not fit", r->batch);
    if (r->end == DG_RULE_ALL_ROUNDS) snprintf(end, sizeof end, "; did not converge");
    if (!r->rounds) snprintf(out, size, "%s: the first batch size of the rule, %d, does not fit.", name, r->batch);
    else
        snprintf(out, size, "%s: %d in round %d: %.4g s per epoch, %.1f%% %s than with %d%s.", name, last->batch,
                 r->rounds - 1, last->epoch, 100 * fabs(last->gain), last->gain < 0 ? "more" : "less",
                 r->round[0].batch, end);
}

static void add(cJSON *to, const char *name, double value)
{
    if (!isnan(value)) (void)cJSON_AddNumberToObject(to, name, value);
}

static void add_rule(cJSON *to, const dg_batch_rule *r)
{
    static const char *const end[] = {[DG_RULE_RUNS] = "cut off",
                                      [DG_RULE_STOPPED] = "stopped",
                                      [DG_RULE_ALL_ROUNDS] = "all rounds",
                                      [DG_RULE_CANNOT] = "does not fit"};
    cJSON *j = cJSON_AddObjectToObject(to, "rule");
    (void)cJSON_AddStringToObject(j, "name", dg_batch_rule_name[r->kind]);
    add(j, "batch", dg_rule_answer(r));
    add(j, "round", r->rounds - 1);
    (void)cJSON_AddStringToObject(j, "end", end[r->end]);
    cJSON *rounds = cJSON_AddArrayToObject(j, "rounds");
    for (int i = 0; i < r->rounds; i++) {
        cJSON *row = cJSON_CreateObject();
        add(row, "batch", r->round[i].batch);
        add(row, "ms", r->round[i].ms);
        add(row, "epoch_s", r->round[i].epoch);
        add(row, "gain", r->round[i].gain);
        add(row, "usage_percent", r->round[i].usage);
        cJSON_AddItemToArray(rounds, row);
    }
}

dg_err dg_batch_json(const dg_batch_found *f)
{
    const unsigned long refused = dg_json_refused();
    const dg_batch_bench *b = f->bench;
    cJSON *j = cJSON_CreateObject();
    (void)cJSON_AddStringToObject(j, "model", b->model->name);
    (void)cJSON_AddStringToObject(j, "backend", b->backend->name);
    (void)cJSON_AddStringToObject(j, "precision", dg_precision_name(b->backend->real, b->backend->math));
    add(j, "images", b->data->train);
    add(j, "pictures", b->data->train); /* key before 0.1.0 */
    add(j, "room_bytes", (double)b->room.have);
    add(j, "foreign_cores", b->machine.foreign < 0 ? NAN : b->machine.foreign);
    add(j, "fma_peak_gflops", b->machine.all > 0 ? b->machine.all : NAN);
    add(j, "seconds", f->seconds);
    if (f->chosen >= 0) add(j, "batch", f->row[f->chosen].batch);
    if (f->why) (void)cJSON_AddStringToObject(j, "because", f->why);
    if (f->rule) add_rule(j, f->rule);
    cJSON *sizes = cJSON_AddArrayToObject(j, "sizes");
    for (int i = 0; i < f->rows; i++) {
        const line l = line_of(f, i);
        cJSON *row = cJSON_CreateObject();
        for (int c = 0; c < COLUMNS; c++)
            if (column[c].json) add(row, column[c].json, value(&l, c));
        cJSON_AddItemToArray(sizes, row);
    }
    if (dg_json_refused() == refused) return dg_json_print(j);
    cJSON_Delete(j);
    return dg_fail(DG_DEVICE, "out of memory for the JSON text");
}

static void put_rows(FILE *to, const dg_batch_found *f)
{
    for (int i = -1; i < f->rows; i++) {
        line l = {0};
        if (i >= 0) l = line_of(f, i);
        for (int c = 0; c < COLUMNS; c++) {
            if (!column[c].csv) continue;
            if (c) fprintf(to, ",");
            if (i < 0) fprintf(to, "%s", column[c].csv);
            else if (!isnan(value(&l, c))) fprintf(to, "%.9g", value(&l, c));
        }
        fprintf(to, "\n");
    }
}

static void put_rules(FILE *to, const dg_batch_found *f, const dg_sweep *s, const dg_batch_rule *rule, int ours)
{
    fprintf(to, "rule,batch,round,epoch_s\n");
    for (int k = 0; k < DG_RULES; k++) {
        const int n = rule[k].rounds - 1;
        if (n >= 0)
            fprintf(to, "%s,%d,%d,%.6g\n", dg_batch_rule_name[k], rule[k].round[n].batch, n, rule[k].round[n].epoch);
    }
    if (!ours) return;
    dg_batch_row row = dg_sweep_at(s, ours);
    const line l = line_of(&(dg_batch_found){.limits = f->limits, .row = &row}, 0);
    fprintf(to, "search,%d,,%.6g\n", ours, l.epoch);
}

static dg_err draw(const char *path, const char *title, const char *y_label, const double *x, const double *y, int n,
                   const dg_batch_rule *rule, int ours)
{
    static const uint8_t color[][3] = {{0, 114, 178}, {213, 94, 0}, {0, 158, 115}, {204, 121, 167}};
    char label[DG_RULES + 1][48];
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
    dg_err e = dg_plots_draw(&plot, 1, WIDTH, HEIGHT, &image);
    if (!e) e = dg_png_write(path, &image, &(dg_text){"Software", dg_version}, 1);
    free(image.pixels);
    return e;
}

static dg_err draw_all(const char *const path[], const dg_batch_found *f, const dg_batch_rule *rule, int ours)
{
    char title[200];
    double *x = malloc(3 * (size_t)f->rows * sizeof *x);
    if (!x) return dg_fail(DG_DEVICE, "out of memory for the sweep's figures");
    double *ms = x + f->rows, *usage = ms + f->rows;
    for (int i = 0; i < f->rows; i++) {
        const dg_batch_row *r = &f->row[i];
        x[i] = r->batch;
        ms[i] = r->ms / r->batch;
        usage[i] = dg_sweep_usage(r);
    }
    snprintf(title, sizeof title, "%.60s on %.80s", f->bench->model->name, f->bench->backend->name);
    const char *const label = isnan(f->row[0].nvml) ? "busy, %" : "NVML, %";
    dg_err e = draw(path[2], title, "ms per image", x, ms, f->rows, rule, ours);
    if (!e) e = draw(path[3], title, label, x, usage, f->rows, rule, ours);
    free(x);
    return e;
}

dg_err dg_sweep_write(const dg_batch_found *f, const dg_sweep *s, const dg_batch_rule *rule, int ours, const char *dir)
{
    static const char *const name[] = {"sweep.csv", "rules.csv", "time.png", "usage.png"};
    char text[4][4096];
    const char *path[4];
    dg_err e = DG_OK;
    for (int k = 0; k < 4; k++) {
        if (snprintf(text[k], sizeof text[k], "%s/%s", dir, name[k]) >= (int)sizeof text[k])
            return dg_fail(DG_IO, "%s: path too long", dir);
        path[k] = text[k];
    }
    for (int k = 0; k < 2 && !e; k++) {
        dg_memory_file m;
        FILE *to = dg_memory_open(&m);
        if (to && k) put_rules(to, f, s, rule, ours);
        else if (to) put_rows(to, f);
        e = dg_memory_close(to, &m) ? dg_write_atomic(path[k], &(dg_chunk){m.text, m.bytes}, 1)
                                    : dg_fail(DG_DEVICE, "out of memory for the sweep's table");
        free(m.text);
    }
    return e ? e : draw_all(path, f, rule, ours);
}
