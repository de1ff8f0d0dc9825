/* `dcgan batch [MODEL] --data DIR`: the fastest batch size, by search, by a published rule, or by a sweep. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "core/base/clock.h"
#include "core/base/memory_file.h"
#include "host/cli/commands.h"
#include "host/cli/outputs.h"
#include "host/figure/chart.h"
#include "host/image/encode.h"
#include "host/files/json_text.h"
#include "host/measure/batch_time.h"
#include "host/net/classifier.h"
#include "host/net/recipes.h"
#include "host/run/stop.h"
#include "host/train/classes.h"
#include "host/trainer/progress.h"

enum { RULE_FROM = 32, RULE_STEPS = 1000, HEIGHT = 380 };
#define SWEEP_SECONDS 2.0
#define NOTABLE 0.05 /* share of step time above which a note is printed */

static const char *const sweep_files[] = {"sweep.csv", "rules.csv", "time.png", "usage.png", NULL};

typedef struct {
    const dg_options *o;
    dg_batch_bench bench;
    dg_progress *progress;
    dg_dataset data;
    dg_batch_limits limits;
    double seconds;
    bool headed;             /* the head was printed */
    int rounds;              /* number of the rule's rounds printed so far */
    dg_batch_table table;    /* result of the search, or of a published rule */
    const dg_batch_row *row; /* the sizes to print */
    int rows;
} job;

/* X(value, key in JSON, name in CSV, title in the text table, format, width, factor of the printed value). NULL: the
 * output lacks the column. r is the row; `before` is the previous row or NULL. */
#define COLUMNS(X)                                                                                          \
    X(r->batch, "batch", "batch", "batch", "%7.0f", 7, 1)                                                   \
    X(r->ms, "ms", "ms_step", "ms/step", " %9.4g", 10, 1)                                                   \
    X(r->median, "ms_median", "ms_median", NULL, NULL, 0, 1)                                                \
    X(r->low, "ms_low", "ms_low", NULL, NULL, 0, 1)                                                         \
    X(r->high, "ms_high", "ms_high", NULL, NULL, 0, 1)                                                      \
    X(r->ms / r->batch, NULL, "ms_picture", NULL, NULL, 0, 1)                                               \
    X(dg_batch_rate(r), "images_per_s", "pictures_s", "images/s", " %10.1f", 11, 1)                         \
    X(dg_batch_rate(r), "pictures_per_s", NULL, NULL, NULL, 0, 1) /* key before 0.1.0 */                    \
    X(before ? dg_batch_rate(r) / dg_batch_rate(before) - 1 : NAN, NULL, NULL, "gain", " %+6.1f%%", 8, 100) \
    X(epoch_of(l, r), "epoch_s", "epoch_s", "epoch", " %7.4g s", 10, 1)                                     \
    X(r->memory, "memory_bytes", "memory_bytes", "memory", " %6.1f MB", 10, 1e-6)                           \
    X(dg_batch_updates(l, r->batch), "steps_per_epoch", NULL, "steps", " %7.0f", 8, 1)                      \
    X(dg_batch_updates(l, r->batch), "steps_an_epoch", NULL, NULL, NULL, 0, 1) /* key before 0.1.0 */       \
    X(r->looks, "looks", NULL, NULL, NULL, 0, 1)                                                            \
    X(r->busy, "busy_percent", "busy", "busy", " %7.1f%%", 9, 1)                                            \
    X(r->nvml, "nvml_percent", "nvml", "NVML", " %7.1f%%", 9, 1)                                            \
    X(r->of_peak, "percent_of_peak", "of_peak", "of peak", " %7.1f%%", 9, 1)

#define NAMES(value, json, csv, head, format, width, scale) {json, csv, head, format, width, scale},
static const struct {
    const char *json, *csv, *head, *format;
    int width;
    double scale;
} column[] = {COLUMNS(NAMES)};
enum { N_COLUMNS = sizeof column / sizeof *column };

static double epoch_of(const dg_batch_limits *l, const dg_batch_row *r)
{
    const int images = l->drop_last ? l->images - l->images % r->batch : l->images;
    return 1e-3 * r->ms * images / r->batch;
}

#define VALUES(value, json, csv, head, format, width, scale) value,
static void values_of(const job *j, int i, double v[N_COLUMNS])
{
    const dg_batch_limits *l = &j->limits;
    const dg_batch_row *r = &j->row[i], *before = i ? r - 1 : NULL;
    const double all[] = {COLUMNS(VALUES)};
    memcpy(v, all, sizeof all);
}

static bool is_known(const job *j, int c)
{
    double v[N_COLUMNS];
    bool known = false;
    for (int i = 0; i < j->rows; i++) {
        values_of(j, i, v);
        known |= !isnan(v[c]);
    }
    return known;
}

/* Write a line per size. The text table marks the chosen size and omits columns without values. */
static void put_sizes(FILE *to, const job *j, bool csv)
{
    double v[N_COLUMNS];
    for (int i = -1; i < j->rows; i++) {
        if (i >= 0) values_of(j, i, v);
        if (!csv) fputc(i >= 0 && j->row[i].batch == j->table.batch ? '*' : ' ', to);
        for (int c = 0; c < N_COLUMNS; c++) {
            const char *name = csv ? column[c].csv : column[c].head;
            if (!name || (!csv && !is_known(j, c))) continue;
            if (csv && c) fputc(',', to);
            if (i < 0 || isnan(v[c])) fprintf(to, "%*s", csv ? 0 : column[c].width, i < 0 ? name : csv ? "" : "-");
            else fprintf(to, csv ? "%.9g" : column[c].format, csv ? v[c] : column[c].scale * v[c]);
        }
        fputc('\n', to);
    }
}

static void print_head(job *j)
{
    const dg_backend *d = j->bench.backend;
    if (j->o->json || j->headed) return;
    j->headed = true;
    dg_say("%s, %s on %s: %d images", j->bench.model->name, dg_precision_name(d->real, d->math), d->name,
           j->data.train);
    if (strstr(d->name, "Simulated")) dg_say("This GPU is simulated; ignore the times below.");
    printf("\n");
}

static void print_rounds(job *j)
{
    const dg_batch_row *first = j->table.look;
    const bool usage = j->o->rule == DG_RULE_USAGE;
    print_head(j);
    for (; j->rounds < j->table.looks; j->rounds++) {
        const dg_batch_row *r = &first[j->rounds];
        if (r == first)
            printf("  %6s %6s %9s %9s  %s\n", "round", "batch", "ms/step", "epoch", usage ? "usage" : "gain");
        printf("  %6d %6d %9.4g %7.4g s %6.2f%%\n", j->rounds, r->batch, r->ms, dg_round_epoch(&j->limits, r),
               usage ? r->busy : 100 * dg_round_gain(&j->limits, r, first));
    }
    (void)fflush(stdout);
}

static void print_notes(const job *j)
{
    const dg_batch_bench *b = &j->bench;
    double longer = 0;
    bool nvml = false;
    for (int i = 0; i < j->rows; i++) {
        longer = fmax(longer, j->row[i].median / j->row[i].ms - 1);
        nvml |= !isnan(j->row[i].nvml);
    }
    if (longer > NOTABLE)
        printf("ms/step: 10th percentile of the step times; their median is up to %.0f%% longer.\n", 100 * longer);
    if (nvml) printf("NVML: \"utilisation\": share of the time in which any kernel ran.\n");
    if (b->machine.foreign > 0.1 && b->backend->threads)
        printf("Other programs used %.2f cores; times on an idle machine may be shorter.\n", b->machine.foreign);
}

static void add(cJSON *to, const char *name, double value)
{
    if (!isnan(value)) (void)cJSON_AddNumberToObject(to, name, value);
}

static void add_rule(cJSON *to, const job *j)
{
    const dg_batch_table *t = &j->table;
    cJSON *rule = cJSON_AddObjectToObject(to, "rule"), *rounds;
    (void)cJSON_AddStringToObject(rule, "name", dg_batch_rule_name[j->o->rule]);
    add(rule, "batch", t->batch);
    add(rule, "round", t->looks - 1);
    (void)cJSON_AddStringToObject(rule, "end", t->ended);
    rounds = cJSON_AddArrayToObject(rule, "rounds");
    for (int i = 0; i < t->looks; i++) {
        cJSON *row = cJSON_CreateObject();
        add(row, "batch", t->look[i].batch);
        add(row, "ms", t->look[i].ms);
        add(row, "epoch_s", dg_round_epoch(&j->limits, &t->look[i]));
        add(row, "gain", dg_round_gain(&j->limits, &t->look[i], t->look));
        add(row, "usage_percent", t->look[i].busy);
        cJSON_AddItemToArray(rounds, row);
    }
}

static dg_err print_json(const job *j)
{
    const dg_batch_bench *b = &j->bench;
    double v[N_COLUMNS];
    cJSON *to = dg_json_begin();
    (void)cJSON_AddStringToObject(to, "model", b->model->name);
    (void)cJSON_AddStringToObject(to, "backend", b->backend->name);
    (void)cJSON_AddStringToObject(to, "precision", dg_precision_name(b->backend->real, b->backend->math));
    add(to, "images", j->data.train);
    add(to, "pictures", j->data.train); /* key before 0.1.0 */
    add(to, "room_bytes", (double)b->room.have);
    add(to, "foreign_cores", b->machine.foreign < 0 ? NAN : b->machine.foreign);
    add(to, "fma_peak_gflops", b->machine.all > 0 ? b->machine.all : NAN);
    add(to, "seconds", j->seconds);
    if (j->rows && j->table.batch) add(to, "batch", j->table.batch);
    if (*j->table.why) (void)cJSON_AddStringToObject(to, "because", j->table.why);
    if (j->o->rule) add_rule(to, j);
    cJSON *sizes = cJSON_AddArrayToObject(to, "sizes");
    for (int i = 0; i < j->rows; i++) {
        cJSON *row = cJSON_CreateObject();
        values_of(j, i, v);
        for (int c = 0; c < N_COLUMNS; c++)
            if (column[c].json) add(row, column[c].json, v[c]);
        cJSON_AddItemToArray(sizes, row);
    }
    return dg_json_print(to);
}

static dg_err report(job *j)
{
    if (j->o->json) return print_json(j);
    print_head(j);
    if (j->o->rule) print_rounds(j);
    if (j->rows) put_sizes(stdout, j, false);
    print_notes(j);
    printf("\n");
    if (*j->table.why) dg_say("%s", j->table.why);
    return DG_OK;
}

/* choice[k] is what rule k chose on the measured curve. */
static void put_choices(FILE *to, const job *j, const dg_sweep *s, const dg_batch_table choice[DG_RULES])
{
    fprintf(to, "rule,batch,round,epoch_s\n");
    for (int k = 1; k < DG_RULES; k++)
        if (choice[k].looks)
            fprintf(to, "%s,%d,%d,%.6g\n", dg_batch_rule_name[k], choice[k].batch, choice[k].looks - 1,
                    dg_round_epoch(&j->limits, &choice[k].look[choice[k].looks - 1]));
    const int ours = choice[DG_RULE_SEARCH].batch;
    const dg_batch_row row = dg_sweep_at(s, ours);
    if (ours) fprintf(to, "search,%d,,%.6g\n", ours, epoch_of(&j->limits, &row));
}

/* Draw the curve of time or usage. A vertical line marks the batch size that each rule chose. */
static dg_err draw(const char *path, const job *j, const dg_batch_table choice[DG_RULES], bool usage)
{
    const int n = j->rows < DG_CHART_POINTS ? j->rows : DG_CHART_POINTS;
    double low = INFINITY, high = -INFINITY;
    dg_image image = {0};
    dg_chart *p = calloc(1, sizeof *p);
    if (!p) return dg_fail(DG_DEVICE, "out of memory for the sweep's figures");
    dg_curve *c = p->curve;
    p->x_label = "batch";
    p->y_label = !usage ? "ms per image" : isnan(j->row[0].nvml) ? "busy, %" : "NVML, %";
    snprintf(p->title, sizeof p->title, "%.60s on %.80s", j->bench.model->name, j->bench.backend->name);
    snprintf(c->label, sizeof c->label, "%s", p->y_label);
    for (; c->points < n; c->points++) {
        const dg_batch_row *r = &j->row[(long)c->points * j->rows / n];
        const double y = usage ? dg_sweep_usage(r) : r->ms / r->batch;
        c->x[c->points] = r->batch;
        c->y[c->points] = y;
        low = fmin(low, y);
        high = fmax(high, y);
    }
    for (int i = 1; i <= DG_RULES; i++) {
        const int k = i % DG_RULES, batch = choice[k].batch; /* the search is last */
        if (!batch) continue;
        c = &p->curve[++p->curves];
        *c = (dg_curve){.points = 2, .x = {batch, batch}, .y = {low, high}};
        snprintf(c->label, sizeof c->label, "%s: %d", dg_batch_rule_name[k], batch);
    }
    p->curves++;
    dg_err e = dg_charts_draw(p, 1, NULL, HEIGHT, &image);
    if (!e) e = dg_png_write(path, &image, &(dg_text){"Software", dg_version}, 1);
    free(image.pixels);
    free(p);
    return e;
}

static dg_err write_sweep(const job *j, const dg_sweep *s, const dg_batch_table choice[DG_RULES], const char *dir)
{
    dg_err e = DG_OK;
    for (int k = 0; sweep_files[k] && !e; k++) {
        char path[4200];
        dg_memory_file m;
        snprintf(path, sizeof path, "%s/%s", dir, sweep_files[k]);
        if (k >= 2) e = draw(path, j, choice, k == 3);
        if (k >= 2) continue;
        FILE *to = dg_memory_open(&m);
        if (to && k) put_choices(to, j, s, choice);
        else if (to) put_sizes(to, j, true);
        e = dg_memory_close(to, &m) ? dg_write_atomic(path, &(dg_chunk){m.text, m.bytes}, 1)
                                    : dg_fail(DG_DEVICE, "out of memory for the sweep's table");
        free(m.text);
    }
    return e;
}

static dg_err report_sweep(job *j, dg_sweep *s)
{
    dg_batch_table choice[DG_RULES];
    char dir[4096];
    for (int k = 0; k < DG_RULES; k++) {
        j->limits.from = k ? RULE_FROM : j->o->min_batch;
        dg_sweep_choose(s, (dg_batch_rule)k, &j->limits, &choice[k]);
    }
    dg_err e = dg_results_directory(j->o, "", dir, sizeof dir);
    if (!e) e = write_sweep(j, s, choice, dir);
    if (!e) e = report(j);
    if (e || j->o->json) return e;
    if (*s->why_not) dg_say("The sweep ends at batch size %d: %s.", s->row[s->rows - 1].batch, s->why_not);
    dg_say("Batch sizes that the rules choose from this sweep:");
    for (int k = 1; k < DG_RULES; k++) dg_say("  %s", choice[k].why);
    dg_say("  search: %d.", choice[DG_RULE_SEARCH].batch);
    dg_say("%s: sweep.csv, rules.csv, time.png, usage.png", dir);
    return DG_OK;
}

static dg_err sweep(job *j)
{
    dg_sweep_range range;
    dg_sweep s = {.rows = 0};
    const double began = dg_clock();
    (void)dg_sweep_parse(j->o->sweep, &range); /* dg_options_parse has checked the value */
    dg_err e = dg_outputs_check(j->o->out, sweep_files);
    if (!e) e = dg_sweep_run(&j->bench, &range, j->o->seconds > 0 ? j->o->seconds : SWEEP_SECONDS, &s);
    j->seconds = dg_clock() - began;
    j->row = s.row;
    j->rows = s.rows;
    if (!e) e = report_sweep(j, &s);
    free(s.row);
    return e;
}

static dg_err choose(job *j)
{
    const dg_options *o = j->o;
    j->bench.steps = !o->rule ? 0 : o->steps ? o->steps : RULE_STEPS;
    const dg_err e = dg_batch_find(&j->bench, (dg_batch_rule)o->rule, &j->limits, &j->table);
    j->seconds = dg_clock() - j->bench.began;
    j->row = j->table.row;
    j->rows = j->table.rows;
    return e ? e : report(j);
}

static void show_loading(void *context, long done, long total)
{
    dg_progress_count(((job *)context)->progress, "reading images", done, total);
}

static dg_err load(job *j, dg_model *model, const dg_recipe *recipe)
{
    const dg_options *o = j->o;
    dg_dataset_options d = dg_all_images(o, o->data, model->size, model->channels);
    d.labelled = recipe->labels;
    d.test = o->test;
    d.seed = o->seed;
    d.cache = o->cache;
    d.least = o->sweep ? 1 : o->min_batch;
    d.progress = show_loading;
    d.context = j;
    d.stop = &dg_stop_signal;
    j->progress = dg_progress_open(o->quiet);
    dg_err e = dg_dataset_load(&d, &j->data);
    if (!e && recipe->labels && j->data.classes) e = dg_follow_classes(o, &j->data, true, model);
    j->limits = dg_batch_limits_of(o, j->data.train);
    dg_progress_close(j->progress);
    if (e || !recipe->labels) return e;
    return dg_dataset_check_classes(&j->data, o->data, model->name, dg_classifier_classes(model));
}

static void show_size(void *context, int batch)
{
    job *j = context;
    if (j->o->rule && !j->o->json) print_rounds(j);
    if (!j->o->quiet) fprintf(stderr, DG_MSG("timing-batch", "timing batch %d ...\n"), batch);
}

static dg_err measure(job *j, const dg_model *model)
{
    dg_backend *b = NULL;
    dg_err e = dg_open_backend(j->o, &b);
    if (e) return e;
    j->bench = (dg_batch_bench){.o = j->o,
                                .model = model,
                                .backend = b,
                                .data = &j->data,
                                .stop = &dg_stop_signal,
                                .progress = show_size,
                                .context = j};
    e = j->o->sweep ? sweep(j) : choose(j);
    b->close(b);
    return e;
}

int dg_cmd_batch(const dg_options *o)
{
    job j = {.o = o};
    dg_model *model = malloc(sizeof *model);
    const dg_recipe *recipe;
    dg_catch_signals();
    dg_err e = model ? dg_model_read(o->model, model) : dg_fail(DG_DEVICE, "out of memory for a model");
    if (!e) e = dg_recipe_for(model, &recipe);
    if (!e) e = load(&j, model, recipe);
    if (!e) e = measure(&j, model);
    if (dg_stop_signal && (!e || e == DG_FAILED)) e = (dg_err)(128 + dg_stop_signal);
    dg_dataset_free(&j.data);
    free(model);
    return (int)e;
}
