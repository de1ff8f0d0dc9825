/* `dcgan batch`: one JSON object. */
#include <cjson/cJSON.h>

#include "host/files/json.h"
#include "host/files/json_text.h"
#include "host/measure/batch_json.h"

static void add(cJSON *to, const char *name, double value) { (void)cJSON_AddNumberToObject(to, name, value); }
static void text(cJSON *to, const char *name, const char *value) { (void)cJSON_AddStringToObject(to, name, value); }

static void add_if_known(cJSON *to, const char *name, double value)
{
    if (value >= 0) add(to, name, value);
}

static void add_row(cJSON *list, const dg_search_limits *l, const dg_batch_row *r)
{
    cJSON *j = cJSON_CreateObject();
    add(j, "batch", r->batch);
    add(j, "ms", r->ms);
    add(j, "ms_median", r->median);
    add(j, "ms_low", r->low);
    add(j, "ms_high", r->high);
    add(j, "pictures_per_s", dg_batch_rate(r));
    add(j, "epoch_s", dg_batch_epoch(l, r));
    add(j, "steps_an_epoch", dg_batch_updates(l, r->batch));
    add(j, "memory_bytes", (double)r->memory);
    add(j, "looks", r->looks + 1);
    if (r->speed > 0) add(j, "fma_gflops", r->speed);
    add(j, "setup_s", r->setup);
    add_if_known(j, "busy_percent", r->busy);
    add_if_known(j, "percent_of_peak", r->of_peak);
    add_if_known(j, "nvml_percent", r->utilisation);
    add_if_known(j, "waits_percent", r->waits);
    add(j, "steps_in_a_row", r->in_a_row);
    cJSON_AddItemToObject(j, "samples_ms", cJSON_CreateDoubleArray(r->sample, r->samples));
    cJSON_AddItemToArray(list, j);
}

static void add_rule(cJSON *to, const dg_batch_rule *r)
{
    static const char *const end[] = {[DG_RULE_RUNS] = "cut off",
                                      [DG_RULE_STOPPED] = "stopped",
                                      [DG_RULE_ALL_ROUNDS] = "all rounds",
                                      [DG_RULE_CANNOT] = "does not fit"};
    cJSON *j = cJSON_AddObjectToObject(to, "rule"), *rounds;
    text(j, "name", dg_batch_rule_name[r->kind]);
    add(j, "batch", dg_rule_answer(r));
    add(j, "round", r->rounds - 1);
    text(j, "end", end[r->end]);
    rounds = cJSON_AddArrayToObject(j, "rounds");
    for (int i = 0; i < r->rounds; i++) {
        cJSON *row = cJSON_CreateObject();
        add(row, "batch", r->round[i].batch);
        add(row, "ms", r->round[i].ms);
        add(row, "epoch_s", r->round[i].epoch);
        add(row, "gain", r->round[i].gain);
        add_if_known(row, "usage_percent", r->round[i].usage);
        cJSON_AddItemToArray(rounds, row);
    }
}

dg_err dg_batch_json(const dg_batch_bench *b, const dg_search_limits *l, const dg_batch_row *row, int rows, int chosen,
                     const char *why, const dg_batch_rule *rule, double seconds)
{
    const unsigned long refused = dg_json_refused();
    const dg_backend *d = b->backend;
    cJSON *j = cJSON_CreateObject(), *sizes;
    text(j, "model", b->model->name);
    text(j, "backend", d->name);
    text(j, "precision", dg_precision_name(d->real, d->math));
    add(j, "pictures", b->data->train);
    add(j, "room_bytes", (double)b->room.have);
    add_if_known(j, "foreign_cores", b->machine.foreign);
    if (b->machine.all > 0) add(j, "fma_peak_gflops", b->machine.all);
    add(j, "seconds", seconds);
    if (chosen >= 0) add(j, "batch", row[chosen].batch);
    if (why) text(j, "because", why);
    if (rule) add_rule(j, rule);
    sizes = cJSON_AddArrayToObject(j, "sizes");
    for (int i = 0; i < rows; i++) add_row(sizes, l, &row[i]);
    if (dg_json_refused() == refused) return dg_json_print(j);
    cJSON_Delete(j);
    return dg_fail(DG_DEVICE, "out of memory for the JSON text");
}
