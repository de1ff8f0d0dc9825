/* `dcgan batch [MODEL] --data DIR`: the fastest batch size, by search, by a published rule, or by a sweep. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "host/cli/batch_report.h"
#include "host/cli/commands.h"
#include "host/cli/outputs.h"
#include "host/net/classifier.h"
#include "host/net/recipes.h"
#include "host/run/stop.h"
#include "host/train/classes.h"
#include "host/trainer/progress.h"

enum { RULE_FROM = 32, RULE_STEPS = 1000 };
#define SWEEP_SECONDS 2.0

typedef struct {
    const dg_options *o;
    dg_batch_bench bench;
    dg_progress *progress;
    dg_dataset data;
    dg_search_limits limits;
    double began;
} job;

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
    d.least = o->sweep ? 1 : j->limits.from;
    d.progress = show_loading;
    d.context = j;
    d.stop = &dg_stop_signal;
    dg_err e = dg_dataset_load(&d, &j->data);
    if (!e && recipe->labels && j->data.classes) e = dg_follow_classes(o, &j->data, true, model);
    j->limits.images = j->data.train;
    dg_progress_close(j->progress);
    j->progress = NULL;
    if (e || !recipe->labels) return e;
    return dg_dataset_check_classes(&j->data, o->data, model->name, dg_classifier_classes(model));
}

static void show_size(void *context, int batch)
{
    const job *j = context;
    if (!j->o->quiet) fprintf(stderr, DG_MSG("timing-batch", "timing batch %d ...\n"), batch);
}

static dg_batch_found found(const job *j, dg_batch_row *row, int rows)
{
    return (dg_batch_found){&j->bench, &j->limits, row, rows, -1, NULL, NULL, dg_clock() - j->began};
}

static dg_err report(const job *j, const dg_batch_found *f)
{
    if (j->o->json) return dg_batch_json(f);
    dg_batch_print(f);
    printf("\n");
    if (f->why) dg_say("%s", f->why);
    return DG_OK;
}

static dg_err search(job *j)
{
    char why[700];
    dg_search s;
    const dg_err e = dg_batch_find(&j->bench, &j->limits, &s, why, sizeof why);
    dg_batch_bench_close(&j->bench);
    if (e) return e;
    dg_batch_found f = found(j, s.row, s.rows);
    f.chosen = dg_search_choice(&s);
    f.why = why;
    if (!j->o->json) dg_batch_print_head(&j->bench);
    return report(j, &f);
}

typedef struct {
    job *j;
    dg_batch_trial trial;
    bool open;
    double usage_at, cpu_at; /* dg_clock and CPU seconds at the last read_usage */
} device;

static double read_usage(void *context)
{
    device *d = context;
    const dg_batch_bench *b = &d->j->bench;
    const double now = dg_clock(), cpu = dg_cpu_seconds(), wall = now - d->usage_at, used = cpu - d->cpu_at;
    d->usage_at = now;
    d->cpu_at = cpu;
    return b->backend->threads ? 100 * used / (wall * b->backend->threads) : dg_nvml_utilisation(b->nvml);
}

static dg_err open_batch(void *context, int batch, bool *yes)
{
    device *d = context;
    char why[160];
    if (d->open) dg_batch_close(&d->trial);
    d->open = *yes = false;
    if (batch > d->j->data.train) return DG_OK;
    const dg_err e = dg_batch_open(&d->trial, &d->j->bench, batch, yes, why);
    d->open = !e && *yes;
    return e;
}

static dg_err take_steps(void *context, long most, long *done, double *seconds)
{
    double ms = 0;
    const dg_err e = dg_batch_steps(&((device *)context)->trial, most, done, &ms);
    *seconds = 1e-3 * ms * (double)*done;
    return e;
}

static void show_round(void *context, const dg_batch_rule *r)
{
    if (!((device *)context)->j->o->json) dg_rule_print_round(r);
}

static dg_err by_rule(job *j)
{
    const dg_options *o = j->o;
    dg_batch_rule r;
    device d = {.j = j};
    const dg_rule_machine m = {&d, read_usage, open_batch, take_steps, show_round};
    char why[300];
    if (!o->json) dg_batch_print_head(&j->bench);
    dg_rule_begin(&r, (dg_batch_rule_kind)(o->rule - 1), j->limits.from, j->data.train);
    const dg_err e = dg_rule_run(&r, &m, o->steps ? o->steps : RULE_STEPS);
    if (d.open) dg_batch_close(&d.trial);
    dg_batch_bench_close(&j->bench);
    if (e) return e;
    dg_batch_found f = found(j, NULL, 0);
    f.why = why;
    f.rule = &r;
    dg_rule_sentence(&r, why, sizeof why);
    return report(j, &f);
}

static dg_err report_sweep(job *j, dg_sweep *s)
{
    dg_batch_rule rule[DG_RULES];
    char dir[4096], why[300];
    const dg_batch_found f = found(j, s->row, s->rows);
    const int ours = dg_sweep_search(s, &j->limits);
    for (int k = 0; k < DG_RULES; k++) dg_sweep_rule(s, (dg_batch_rule_kind)k, RULE_FROM, j->data.train, &rule[k]);
    dg_err e = dg_results_directory(j->o, "", dir, sizeof dir);
    if (!e) e = dg_sweep_write(&f, s, rule, ours, dir);
    if (!e && !j->o->json) dg_batch_print_head(&j->bench);
    if (!e) e = report(j, &f);
    if (e || j->o->json) return e;
    if (*s->why_not) dg_say("The sweep ends at %d: %s.", s->row[s->rows - 1].batch, s->why_not);
    dg_say("Choices on this curve:");
    for (int k = 0; k < DG_RULES; k++) {
        dg_rule_sentence(&rule[k], why, sizeof why);
        dg_say("  %s", why);
    }
    dg_say("  search: %d.", ours);
    dg_say("%s: sweep.csv, rules.csv, time.png, usage.png", dir);
    return DG_OK;
}

static dg_err sweep(job *j)
{
    dg_sweep_range range;
    dg_sweep s = {.rows = 0};
    (void)dg_sweep_parse(j->o->sweep, &range); /* dg_options_parse has checked the value */
    dg_err e = dg_outputs_check(j->o->out,
                                (const char *const[]){"sweep.csv", "rules.csv", "time.png", "usage.png", NULL});
    if (!e) e = dg_sweep_run(&j->bench, &range, j->o->seconds > 0 ? j->o->seconds : SWEEP_SECONDS, &s);
    dg_batch_bench_close(&j->bench);
    if (!e) e = report_sweep(j, &s);
    dg_sweep_free(&s);
    return e;
}

static dg_err measure(job *j, const dg_model *model)
{
    const dg_options *o = j->o;
    dg_backend *b = NULL;
    dg_err e = dg_open_backend(o, &b);
    if (e) return e;
    j->bench = (dg_batch_bench){.o = o,
                                .model = model,
                                .backend = b,
                                .data = &j->data,
                                .stop = &dg_stop_signal,
                                .progress = show_size,
                                .context = j};
    j->began = dg_clock();
    e = dg_batch_bench_open(&j->bench);
    if (!e && o->rule - 1 == DG_RULE_USAGE && !b->threads && !j->bench.nvml)
        e = dg_fail(DG_DEVICE, "--rule usage: needs NVML, and %s; use --rule epoch-time", j->bench.no_nvml);
    if (!e) e = o->sweep ? sweep(j) : o->rule ? by_rule(j) : search(j);
    dg_batch_bench_close(&j->bench);
    b->close(b);
    return e;
}

int dg_cmd_batch(const dg_options *o)
{
    job j = {.o = o, .limits = dg_batch_limits(o), .progress = dg_progress_open(o->quiet)};
    dg_model *model = malloc(sizeof *model);
    const dg_recipe *recipe;
    dg_catch_signals();
    dg_err e = model ? dg_model_read(o->model, model) : dg_fail(DG_DEVICE, "out of memory for a model");
    if (!e) e = dg_recipe_for(model, &recipe);
    if (!e) e = load(&j, model, recipe);
    if (!e) e = measure(&j, model);
    if (dg_stop_signal && (!e || e == DG_FAILED)) e = (dg_err)(128 + dg_stop_signal);
    dg_progress_close(j.progress);
    dg_dataset_free(&j.data);
    free(model);
    return (int)e;
}
