/* The results of `dcgan bench` and `dcgan profile` as one JSON object. */
#include <cjson/cJSON.h>

#include "core/tune/evidence.h"
#include "host/files/json.h"
#include "host/measure/bench.h"

static void add(cJSON *to, const char *name, double value) { (void)cJSON_AddNumberToObject(to, name, value); }
static void text(cJSON *to, const char *name, const char *value) { (void)cJSON_AddStringToObject(to, name, value); }

static void add_op(cJSON *list, const dg_machine *m, const dg_bench_op *o)
{
    const double ms = dg_timing_median(&o->ms), rate = ms > 0 ? o->bytes / ms * 1e-6 : 0;
    cJSON *row = cJSON_CreateObject(), *predicted;
    text(row, "name", o->name);
    text(row, "kind", o->kind);
    text(row, "variant", o->variant ? o->variant->name : "");
    add(row, "gflop", o->flops * 1e-9);
    add(row, "mb", o->bytes * 1e-6);
    if (o->ms.n) {
        add(row, "median_ms", ms);
        add(row, "best_ms", o->ms.best);
        add(row, "gflops", dg_gflops(o->flops, ms));
        add(row, "percent_of_peak", dg_percent(dg_gflops(o->flops, ms), m->all));
        add(row, "gb_per_s", rate);
        add(row, "percent_of_memory", dg_percent(rate, m->triad));
    }
    predicted = cJSON_AddObjectToObject(row, "predicted");
    add(predicted, "us", o->predicted.us);
    add(predicted, "arithmetic_us", o->predicted.arithmetic_us);
    add(predicted, "memory_us", o->predicted.memory_us);
    add(predicted, "launch_us", o->predicted.launch_us);
    add(predicted, "kernels", o->predicted.kernels);
    text(predicted, "bound", dg_bound_name(o->predicted.bound));
    add(predicted, "bound_us", o->predicted.bound_us);
    cJSON_AddItemToArray(list, row);
}

static void add_launch(cJSON *list, const dg_bench_model *r, const dg_bench_launch *l)
{
    for (int k = 0, i = 0; i < l->cost.parts; k++) {
        cJSON *row = cJSON_CreateObject(), *parts;
        text(row, "op", r->op[l->op].name);
        if (k < l->cost.kernels) {
            add(row, "bound_us", l->cost.kernel[k].bound_us);
            add(row, "us", l->cost.kernel[k].us);
            text(row, "limit", dg_limit_name(l->cost.kernel[k].limit));
            (void)cJSON_AddBoolToObject(row, "near", l->cost.kernel[k].near);
        }
        parts = cJSON_AddArrayToObject(row, "parts");
        for (; i < l->cost.parts && l->cost.part[i].kernel == k; i++) {
            const dg_cost_part *p = &l->cost.part[i];
            cJSON *part = cJSON_CreateObject();
            text(part, "kind", p->kind);
            add(part, "blocks", p->blocks);
            add(part, "steps", p->steps);
            add(part, "most", p->most);
            add(part, "rest", p->rest);
            add(part, "merged", p->merged);
            cJSON_AddItemToArray(parts, part);
        }
        cJSON_AddItemToArray(list, row);
    }
}

static void add_graph(cJSON *list, const dg_machine *m, const dg_bench_model *r, const dg_bench_launch *l)
{
    const dg_launch_sum s = dg_bench_sum(r, l);
    cJSON *row = cJSON_CreateObject();
    text(row, "op", r->op[l->op].name);
    add(row, "blocks", s.blocks);
    add(row, "us", l->graph_us);
    add(row, "predicted_us", s.us);
    if (s.instructions > 0) {
        add(row, "instructions_per_warp", s.instructions);
        add(row, "clocks_per_instruction", l->graph_us * dg_machine_ghz(m) * 1e3 / s.instructions);
    }
    cJSON_AddItemToArray(list, row);
}

static void add_model(cJSON *list, const dg_machine *m, const dg_bench_model *r)
{
    const double median = dg_timing_median(&r->step), rate = dg_gflops(r->flops, median);
    cJSON *j = cJSON_CreateObject(), *graphs;
    text(j, "model", r->model);
    add(j, "batch", r->batch);
    if (r->step.n) {
        add(j, "steps", r->step.n);
        add(j, "steps_in_flight", r->in_flight);
        add(j, "median_ms", median);
        add(j, "best_ms", r->step.best);
        add(j, "images_per_s", r->batch / median * 1e3);
        add(j, "gflops", rate);
        add(j, "percent_of_peak", dg_percent(rate, m->all));
    }
    add(j, "gflop", r->flops * 1e-9);
    add(j, "mb", r->bytes * 1e-6);
    add(j, "kernels", r->kernels);
    add(j, "dependent_kernels", r->chain);
    add(j, "predicted_us", r->predicted_us);
    cJSON *ops = cJSON_AddArrayToObject(j, "ops");
    for (int i = 0; i < r->ops; i++) add_op(ops, m, &r->op[i]);
    cJSON *launches = cJSON_AddArrayToObject(j, "launches");
    for (int i = 0; i < r->launches; i++) add_launch(launches, r, &r->launch[i]);
    if (r->graph_us > 0) {
        add(j, "in_graph_us", r->graph_us);
        graphs = cJSON_AddArrayToObject(j, "in_graph");
        for (int i = 0; i < r->launches; i++) add_graph(graphs, m, r, &r->launch[i]);
    }
    cJSON_AddItemToArray(list, j);
}

static void add_machine(cJSON *j, const dg_machine *m)
{
    cJSON *peak = cJSON_AddObjectToObject(j, "fma_peak_gflops"),
          *memory = cJSON_AddObjectToObject(j, "memory_gb_per_s");
    if (m->one > 0) add(peak, "one_thread", m->one);
    add(peak, m->gpu ? "all" : "all_threads", m->all);
    if (m->bf16 > 0) add(j, "tensor_bf16_gflops", m->bf16);
    if (m->fp16 > 0) add(j, "tensor_fp16_gflops", m->fp16);
    add(memory, "triad", m->triad);
    add(memory, "read", m->read);
    if (m->array_mb > 0) add(memory, "array_mb", m->array_mb);
    add(memory, "cache", m->cache);
    add(memory, "cache_mb", m->cache_mb);
    add(j, "launch_us", m->launch_us);
    if (!m->gpu) return;
    const dg_machine_costs *c = &m->costs;
    cJSON *costs = cJSON_AddObjectToObject(j, "costs");
    add(costs, "dependent_us", c->after_us);
    add(costs, "wave_us", c->wave_us);
    add(costs, "last_block_us", c->last_us);
    add(costs, "shared", c->l1);
    add(costs, "cache", c->l2);
    add(costs, "tensor", c->tensor);
    dg_json_put(costs, "issued", cJSON_CreateDoubleArray(c->issued, 4));
}

static void add_evidence(cJSON *j, const dg_machine *m)
{
    const dg_evidence *e = dg_evidence_of(m);
    cJSON *constants = cJSON_AddObjectToObject(j, "constants"), *past = cJSON_AddArrayToObject(j, "last_predictions");
    if (e->measured) text(constants, "measured", e->measured);
    if (e->fitted) text(constants, "fitted", e->fitted);
    if (e->published) text(constants, "published", e->published);
    if (e->assumed) text(constants, "assumed", e->assumed);
    for (int i = 0; i < DG_COMPARED && e->compared[i].model; i++) {
        cJSON *row = cJSON_CreateObject();
        text(row, "where", e->where);
        text(row, "model", e->compared[i].model);
        add(row, "batch", e->compared[i].batch);
        add(row, "predicted_ms", e->compared[i].predicted_ms);
        add(row, "measured_ms", e->compared[i].measured_ms);
        cJSON_AddItemToArray(past, row);
    }
}

dg_err dg_bench_json(const dg_machine *m, const dg_bench_model *r, int n, const char *device)
{
    cJSON *j = dg_json_begin(), *models;
    text(j, "machine", m->name);
    text(j, "numbers", m->source);
    if (*device) text(j, "backend", device);
    text(j, "precision", dg_precision_name(m->real, m->math));
    add(j, m->gpu ? "multiprocessors" : "threads", m->units);
    if (m->rounds) add(j, "repeats", m->rounds);
    if (m->foreign >= 0) add(j, "foreign_cores", m->foreign);
    if (m->all > 0) add_machine(j, m);
    add_evidence(j, m);
    models = cJSON_AddArrayToObject(j, "models");
    for (int i = 0; i < n; i++) add_model(models, m, &r[i]);
    return dg_json_print(stdout, j);
}
