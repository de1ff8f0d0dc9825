/* `dcgan batch [MODEL] --data DIR`: chooses the batch size by measurements, or times a range (--sweep). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "core/base/clock.h"
#include "host/cli/commands.h"
#include "host/files/json.h"
#include "host/measure/batch_time.h"
#include "host/net/recipe.h"
#include "host/run/length.h"
#include "host/run/stop.h"

typedef struct {
    const dg_options *o;
    dg_options settled; /* with the length of schedule and average that a run would have */
    dg_batch_bench bench;
    dg_dataset data;
    double seconds;
    dg_batch_table table;
} job;

/* Table columns: value, JSON key, title (NULL: only JSON), printf format, width, factor of printed values. `rule` is
 * true for the rules usage and epoch-time. */
#define COLUMNS(X)                                                                                       \
    X(rule ? (double)i : NAN, "round", "round", "%7.0f", 7, 1)                                           \
    X(r->batch, "batch", "batch", "%7.0f", 7, 1)                                                         \
    X(r->ms, "ms", "ms/step", " %9.4g", 10, 1)                                                           \
    X(r->median, "ms_median", NULL, NULL, 0, 1)                                                          \
    X(dg_batch_rate(r), "images_per_s", "images/s", " %10.1f", 11, 1)                                    \
    X(dg_batch_rate(r), "pictures_per_s", NULL, NULL, 0, 1) /* key before 0.1.0 */                       \
    X(gain_of(t, i, rule), "gain", "gain", " %+6.1f%%", 8, 100)                                          \
    X(dg_batch_epoch(&t->limits, r), "epoch_s", "epoch", " %7.4g s", 10, 1)                              \
    X(r->memory, "memory_bytes", "memory", " %6.1f MB", 10, 1e-6)                                        \
    X(dg_batch_updates(&t->limits, r->batch), "steps_per_epoch", "steps", " %7.0f", 8, 1)                \
    X(dg_batch_updates(&t->limits, r->batch), "steps_an_epoch", NULL, NULL, 0, 1) /* key before 0.1.0 */ \
    X(rule ? NAN : (double)r->looks, "looks", NULL, NULL, 0, 1)                                          \
    X(rule ? r->busy : NAN, "usage_percent", "usage", " %7.2f%%", 9, 1)                                  \
    X(rule ? NAN : r->busy, "busy_percent", "busy", " %7.1f%%", 9, 1)                                    \
    X(r->of_peak, "percent_of_peak", "of peak", " %7.1f%%", 9, 1)                                        \
    X(r->joules, "joules_per_image", "J/image", " %8.3g", 9, 1)

#define NAMES(value, json, head, format, width, scale) {json, head, format, width, scale},
static const struct {
    const char *json, *head, *format;
    int width;
    double scale;
} column[] = {COLUMNS(NAMES)};
enum { N_COLUMNS = sizeof column / sizeof *column };

static double gain_of(const dg_batch_table *t, int i, bool rule)
{
    if (rule) return dg_batch_gain(t, i);
    return i ? dg_batch_rate(&t->row[i]) / dg_batch_rate(&t->row[i - 1]) - 1 : NAN;
}

static bool by_rounds(const job *j)
{
    return !j->o->sweep && (j->o->rule == DG_RULE_USAGE || j->o->rule == DG_RULE_EPOCH_TIME);
}

#define VALUES(value, json, head, format, width, scale) value,
static void values_of(const job *j, int i, double v[N_COLUMNS])
{
    const dg_batch_table *t = &j->table;
    const dg_batch_row *r = &t->row[i];
    const bool rule = by_rounds(j);
    const double all[] = {COLUMNS(VALUES)};
    memcpy(v, all, sizeof all);
}

static bool is_known(const job *j, int c)
{
    double v[N_COLUMNS];
    bool known = false;
    for (int i = 0; i < j->table.rows; i++) {
        values_of(j, i, v);
        known |= !isnan(v[c]);
    }
    return known;
}

static void print_table(const job *j)
{
    double v[N_COLUMNS];
    for (int i = -1; i < j->table.rows; i++) {
        if (i >= 0) values_of(j, i, v);
        putchar(i >= 0 && j->table.row[i].batch == j->table.batch ? '*' : ' ');
        for (int c = 0; c < N_COLUMNS; c++) {
            if (!column[c].head || !is_known(j, c)) continue;
            if (i < 0 || isnan(v[c])) printf("%*s", column[c].width, i < 0 ? column[c].head : "-");
            else printf(column[c].format, column[c].scale * v[c]);
        }
        putchar('\n');
    }
}

static void add(cJSON *to, const char *name, double value)
{
    if (!isnan(value)) (void)cJSON_AddNumberToObject(to, name, value);
}

static void add_rows(cJSON *to, const char *name, const job *j)
{
    double v[N_COLUMNS];
    cJSON *rows = cJSON_AddArrayToObject(to, name);
    for (int i = 0; i < j->table.rows; i++) {
        cJSON *row = cJSON_CreateObject();
        values_of(j, i, v);
        for (int c = 0; c < N_COLUMNS; c++) add(row, column[c].json, v[c]);
        cJSON_AddItemToArray(rows, row);
    }
}

static dg_err print_json(const job *j)
{
    const dg_batch_table *t = &j->table;
    const dg_batch_bench *b = &j->bench;
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
    if (t->batch) add(to, "batch", t->batch);
    if (*t->why) (void)cJSON_AddStringToObject(to, "because", t->why);
    if (by_rounds(j)) {
        cJSON *rule = cJSON_AddObjectToObject(to, "rule");
        (void)cJSON_AddStringToObject(rule, "name", j->o->rule == DG_RULE_USAGE ? "usage" : "epoch-time");
        add(rule, "batch", t->batch);
        add(rule, "round", t->rows - 1);
        (void)cJSON_AddStringToObject(rule, "end", t->ended);
        add_rows(rule, "rounds", j);
    } else add_rows(to, "sizes", j);
    return dg_json_print(stdout, to);
}

static dg_err report(const job *j)
{
    const dg_batch_bench *b = &j->bench;
    const dg_backend *d = b->backend;
    if (j->o->json) return print_json(j);
    dg_say("%s, %s on %s: %d images", b->model->name, dg_precision_name(d->real, d->math), d->name, j->data.train);
    if (strstr(d->name, "Simulated")) dg_say("The GPU is simulated; ignore all times in this table.");
    printf("\n");
    print_table(j);
    if (b->machine.foreign > 0.1 && d->threads)
        printf("Other programs used %.2f CPU cores; on an idle machine, the times may be shorter.\n",
               b->machine.foreign);
    printf("\n");
    if (*j->table.why) dg_say("%s", j->table.why);
    return DG_OK;
}

static void show_size(void *context, int batch)
{
    if (!((job *)context)->o->quiet) fprintf(stderr, DG_MSG("timing-batch", "timing batch %d ...\n"), batch);
}

static dg_err measure(job *j, const dg_model *model)
{
    const dg_batch_rule rule = j->o->sweep ? DG_RULE_SWEEP : (dg_batch_rule)j->o->rule;
    dg_backend *b = NULL;
    dg_err e = dg_open_backend(j->o, &b);
    if (e) return e;
    j->settled = *j->o;
    j->settled.batch = j->o->min_batch;
    dg_settle_length(&j->settled, j->data.train);
    j->bench = (dg_batch_bench){.o = &j->settled,
                                .model = model,
                                .backend = b,
                                .data = &j->data,
                                .stop = &dg_stop_signal,
                                .progress = show_size,
                                .context = j};
    e = dg_batch_find(&j->bench, rule, &j->table);
    j->seconds = dg_clock() - j->bench.began;
    if (!e) e = report(j);
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
    if (!e) e = dg_training_images(o, model, o->min_batch, &j.data);
    if (!e) e = measure(&j, model);
    if (dg_stop_signal && (!e || e == DG_FAILED)) e = (dg_err)(128 + dg_stop_signal);
    dg_dataset_free(&j.data);
    free(model);
    return (int)e;
}
