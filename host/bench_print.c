/* The results of `dcgan bench` as a table and as one JSON object. */
#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

static const char *precision(const dg_backend *b) { return b->real == DG_F64 ? "fp64" : "fp32"; }

static double percent(double part, double of) { return of > 0 ? 100 * part / of : 0; }

static double gflops(double flops, double ms) { return ms > 0 ? flops / ms * 1e-6 : 0; }

static void print_machine(const dg_machine *m, const dg_backend *b)
{
    printf("%s: %s, %s\n", *m->machine ? m->machine : "this machine", b->name, precision(b));
    if (m->all > 0) {
        printf("FMA peak       %8.1f GFLOP/s on one thread, %.1f on %d (best of %d, taken between the steps below)\n",
               m->one, m->all, b->threads, m->rounds);
        printf("memory         %8.1f GB/s triad, %.1f GB/s read, %d thread%s, arrays of %.0f MB (best of %d)\n",
               m->triad, m->read, b->threads, b->threads == 1 ? "" : "s", m->array_mb, m->rounds);
    }
    if (m->foreign >= 0)
        printf("other programs %8.2f cores on average meanwhile%s\n", m->foreign,
               m->foreign > 0.1 ? ": the numbers below are too slow by about that much" : "");
}

static void print_row(const char *name, const char *kind, const char *variant, double ms, double best, double all_ms,
                      double flops, double bytes, const dg_machine *m)
{
    double rate = gflops(flops, ms);
    printf("%-24s %-12s %-10s %9.4f %9.4f %5.1f%% %9.4f %9.2f %5.1f%% %8.2f\n", name, kind, variant, ms, best,
           percent(ms, all_ms), flops * 1e-9, rate, percent(rate, m->all), ms > 0 ? bytes / ms * 1e-6 : 0);
}

static bool filtered(const dg_bench_model *r)
{
    for (int i = 0; i < r->ops; i++)
        if (strcmp(r->op[i].variant, "winograd") == 0) return true;
    return false;
}

static void print_model(const dg_machine *m, const dg_bench_model *r)
{
    double median = dg_timing_median(&r->step), sum = 0, best = 0, bytes = 0;
    for (int i = 0; i < r->ops; i++) {
        sum += dg_timing_median(&r->op[i].ms);
        best += r->op[i].ms.best;
        bytes += r->op[i].bytes;
    }
    printf("\n%s, batch %d: median %.2f ms, best %.2f ms a step (of %d), %.1f images/s\n", r->model, r->batch,
           median, r->step.best, r->step.n, r->batch / median * 1e3);
    printf("%.2f GFLOP a step, convolutions counted as direct: %.1f GFLOP/s", r->flops * 1e-9,
           gflops(r->flops, median));
    if (m->all > 0)
        printf(" = %.1f%% of the FMA peak above (best step: %.1f%%)", percent(gflops(r->flops, median), m->all),
               percent(gflops(r->flops, r->step.best), m->all));
    printf("\n");
    if (filtered(r))
        printf("Ops of variant winograd multiply less than is counted for them: they can exceed 100%% of the peak.\n");
    printf("\n%-24s %-12s %-10s %9s %9s %6s %9s %9s %6s %8s\n", "op", "kind", "variant", "median ms", "best ms",
           "share", "GFLOP", "GFLOP/s", "peak", "GB/s");
    for (int i = 0; i < r->ops; i++) {
        const dg_bench_op *o = &r->op[i];
        double ms = dg_timing_median(&o->ms);
        print_row(o->name, o->kind, o->variant, ms, o->ms.best, sum, o->flops, o->bytes, m);
    }
    print_row("all ops, one by one", "", "", sum, best, sum, r->flops, bytes, m);
}

/* Where the time goes, kind by kind. */
static void print_kinds(const dg_bench_model *r)
{
    double sum = 0;
    for (int i = 0; i < r->ops; i++) sum += dg_timing_median(&r->op[i].ms);
    printf("\n%-24s %9s %9s %6s %9s %8s\n", "kind", "median ms", "best ms", "share", "GFLOP/s", "GB/s");
    for (int i = 0; i < r->ops; i++) {
        double ms = 0, best = 0, flops = 0, bytes = 0;
        int first = -1;
        for (int k = 0; k < r->ops; k++) {
            if (r->op[k].kind != r->op[i].kind) continue;
            if (first < 0) first = k;
            ms += dg_timing_median(&r->op[k].ms);
            best += r->op[k].ms.best;
            flops += r->op[k].flops;
            bytes += r->op[k].bytes;
        }
        if (first == i && ms > 0)
            printf("%-24s %9.4f %9.4f %5.1f%% %9.2f %8.2f\n", r->op[i].kind, ms, best, percent(ms, sum),
                   gflops(flops, ms), bytes / ms * 1e-6);
    }
}

void dg_bench_print(const dg_machine *m, const dg_bench_model *r, int n, const dg_backend *b)
{
    print_machine(m, b);
    for (int i = 0; i < n; i++) {
        print_model(m, &r[i]);
        print_kinds(&r[i]);
    }
}

static void add(cJSON *to, const char *name, double value) { (void)cJSON_AddNumberToObject(to, name, value); }

static void add_model(cJSON *list, const dg_machine *m, const dg_bench_model *r)
{
    double median = dg_timing_median(&r->step), rate = gflops(r->flops, median);
    cJSON *j = cJSON_CreateObject();
    (void)cJSON_AddStringToObject(j, "model", r->model);
    add(j, "batch", r->batch);
    add(j, "steps", r->step.n);
    add(j, "median_ms", median);
    add(j, "best_ms", r->step.best);
    add(j, "images_per_s", r->batch / median * 1e3);
    add(j, "gflop", r->flops * 1e-9);
    add(j, "gflops", rate);
    add(j, "percent_of_peak", percent(rate, m->all));
    cJSON *ops = cJSON_AddArrayToObject(j, "ops");
    for (int i = 0; i < r->ops; i++) {
        const dg_bench_op *o = &r->op[i];
        double ms = dg_timing_median(&o->ms);
        cJSON *row = cJSON_CreateObject();
        (void)cJSON_AddStringToObject(row, "name", o->name);
        (void)cJSON_AddStringToObject(row, "kind", o->kind);
        (void)cJSON_AddStringToObject(row, "variant", o->variant);
        add(row, "median_ms", ms);
        add(row, "best_ms", o->ms.best);
        add(row, "gflop", o->flops * 1e-9);
        add(row, "gflops", gflops(o->flops, ms));
        add(row, "percent_of_peak", percent(gflops(o->flops, ms), m->all));
        add(row, "mb", o->bytes * 1e-6);
        add(row, "gb_per_s", ms > 0 ? o->bytes / ms * 1e-6 : 0);
        cJSON_AddItemToArray(ops, row);
    }
    cJSON_AddItemToArray(list, j);
}

dg_err dg_bench_json(const dg_machine *m, const dg_bench_model *r, int n, const dg_backend *b)
{
    cJSON *j = cJSON_CreateObject(), *peak, *memory, *models;
    (void)cJSON_AddStringToObject(j, "machine", m->machine);
    (void)cJSON_AddStringToObject(j, "backend", b->name);
    (void)cJSON_AddStringToObject(j, "precision", precision(b));
    add(j, "threads", b->threads);
    add(j, "repeats", m->rounds);
    if (m->foreign >= 0) add(j, "foreign_cores", m->foreign);
    if (m->all > 0) {
        peak = cJSON_AddObjectToObject(j, "fma_peak_gflops");
        add(peak, "one_thread", m->one);
        add(peak, "all_threads", m->all);
        memory = cJSON_AddObjectToObject(j, "memory_gb_per_s");
        add(memory, "triad", m->triad);
        add(memory, "read", m->read);
        add(memory, "array_mb", m->array_mb);
    }
    models = cJSON_AddArrayToObject(j, "models");
    for (int i = 0; i < n; i++) add_model(models, m, &r[i]);
    char *text = cJSON_Print(j);
    cJSON_Delete(j);
    if (!text) return dg_fail(DG_DEVICE, "out of memory for the JSON text");
    printf("%s\n", text);
    free(text);
    return DG_OK;
}
