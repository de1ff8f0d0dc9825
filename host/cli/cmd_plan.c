/* `dcgan plan MODEL`: prints ops and memory of training. Models that are neither a GAN nor a classifier have only a
 * forward pass. With --dry-run, training prints a summary of the run. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "core/plan/branches.h"
#include "host/cli/commands.h"
#include "host/train/begin.h"
#include "host/files/json.h"
#include "core/tune/machine.h"
#include "kernels/cuda/planner.h"
#include "core/base/plural.h"
#include "core/base/shell.h"
#include "host/data/dataset.h"
#include "host/whiten/whiten.h"
#include "host/net/build.h"
#include "host/net/classifier.h"
#include "host/net/recipe.h"
#include "host/net/recipe_parts.h"
#include "host/trainer/fit.h"
#include "host/options/option_table.h"
#include "host/run/length.h"
#include "host/measure/batch_time.h"

enum { LOG_BYTES = 250, TEXT = 400 }; /* LOG_BYTES: estimated bytes per step in log.csv and log.jsonl */

static void print_images(const dg_options *o, const dg_job *job, const dg_dataset *d)
{
    static const char *const fit[] = {"cut", "padded", "stretched"};
    const int tests = d->count - d->train + d->aside;
    const dg_size size = job->model.size;
    char aside[64] = "", skipped[64] = "";
    if (tests) snprintf(aside, sizeof aside, " (the training part; %d for testing)", tests);
    if (d->skips) snprintf(skipped, sizeof skipped, ", %d file%s skipped", d->skips, dg_s(d->skips));
    dg_say("images     %d%s from %s, %s to %d x %d in %s%s", d->train, aside, o->data, fit[o->fit], size.W, size.H,
           dg_channels_name(job->model.channels), skipped);
}

static void print_network(const dg_job *job)
{
    char text[TEXT] = "";
    for (int net = 0; net < job->recipe->nets; net++) {
        size_t n = 0;
        for (int i = 0; i < job->tensors; i++)
            if (job->tensor[i].net == net && job->tensor[i].grad >= 0) n += dg_job_tensor_count(&job->tensor[i]);
        const size_t at = strlen(text);
        snprintf(text + at, sizeof text - at, "%s%s %.*f million", net ? ", " : "", job->recipe->net[net].name,
                 n < 99500 ? 3 : 1, (double)n / 1e6);
    }
    dg_say("network    %s, weights: %s", job->model.name, text);
}

static void print_steps(const dg_options *o, int images)
{
    const int rest = dg_images_of_epoch(o, images) % o->batch;
    const long steps = dg_steps_of_run(o, images);
    char last[64] = "", first[64] = "";
    if (rest) snprintf(last, sizeof last, ", the last step with %d image%s", rest, dg_s(rest));
    if (steps < (long)o->epochs * dg_steps_of_epoch(o, images))
        snprintf(first, sizeof first, ", limited to %ld by --steps", steps);
    const int each = dg_steps_of_epoch(o, images);
    dg_say("batch      %d image%s, %d step%s per epoch%s", o->batch, dg_s(o->batch), each, dg_s(each), last);
    dg_say("steps      %ld in %d epoch%s%s", (long)o->epochs * each, o->epochs, dg_s(o->epochs), first);
}

/* Print what each process sends if several processes share the shards (docs/guide/processes.md). */
static void print_shards(const dg_options *o, const dg_job *job)
{
    const int shards = dg_shards_of(&o->job), each = o->batch / shards;
    char text[TEXT] = "";
    double bytes = 0;
    if (shards == 1) return;
    for (int net = 0; net < job->recipe->nets; net++)
        bytes += 2 * (double)dg_weights_of(job, net).n * (double)dg_type_bytes(job->backend->real);
    for (int w = 2; w <= shards; w *= 2) {
        const size_t at = strlen(text);
        snprintf(text + at, sizeof text - at, "%s%d: %.3g MB", w > 2 ? ", " : "", w, bytes * (w - 1) / w / 1e6);
    }
    dg_say("shards     %d of %d image%s; data that a process sends per step, by the number of processes: %s", shards,
           each, dg_s(each), text);
}

static dg_err print_time(const dg_options *o, const dg_job *job, const dg_dataset *d)
{
    char text[40];
    dg_options one = *o;
    dg_batch_table t = {.rows = 0};
    dg_batch_bench b = {.o = &one, .model = &job->model, .backend = job->backend, .data = d};
    one.min_batch = one.max_batch = o->batch;
    one.seconds = 0.5;
    const dg_err e = dg_batch_find(&b, DG_RULE_SWEEP, &t);
    const double ms = t.row->median;
    if (!e)
        dg_say("time       about %s: %.3g %s per step (measured now), not counting tests and file output",
               dg_duration(1e-3 * ms * (double)dg_steps_of_run(o, d->train), text, sizeof text),
               ms < 999.5 ? ms : 1e-3 * ms, ms < 999.5 ? "ms" : "s");
    return e;
}

static double checkpoint_bytes(const dg_job *job)
{
    double bytes = 0;
    for (int i = 0; i < job->tensors; i++) {
        const dg_job_tensor *t = &job->tensor[i];
        bytes += (double)dg_job_tensor_count(t) * (1 + (t->moment1 >= 0) + (t->moment2 >= 0));
    }
    return bytes * (double)dg_type_bytes(job->backend->real);
}

static void free_text(const char *path, char *out, size_t size)
{
    char at[4096];
    struct statvfs s;
    snprintf(at, sizeof at, "%s", path);
    *out = 0;
    for (bool found = false; !found;) {
        char *slash = strrchr(at, '/');
        found = statvfs(at, &s) == 0;
        if (found) snprintf(out, size, "; %.1f GB free", (double)s.f_bavail * (double)s.f_frsize / 1e9);
        else if (slash && slash > at) *slash = 0;
        else if (at[0] != '/' && strcmp(at, ".") != 0) snprintf(at, sizeof at, ".");
        else break;
    }
}

static void print_disk(const dg_options *o, const dg_job *job, const dg_dataset *d)
{
    const dg_model *m = &job->model;
    const double checkpoint = checkpoint_bytes(job), checkpoints = 2 + o->keep + (d->train < d->count);
    const int n = job->recipe->sample && o->sample_every ? (o->epochs + o->sample_every - 1) / o->sample_every : 0;
    const double grid = (double)o->grid_rows * o->grid_cols * m->size.W * m->size.H * m->channels;
    const double log = LOG_BYTES * (double)dg_steps_of_run(o, d->train);
    char unused[64], grids[64] = "";
    free_text(o->out, unused, sizeof unused);
    if (n) snprintf(grids, sizeof grids, ", %d sample grid%s of %.1f MB at most", n, dg_s(n), grid / 1e6);
    dg_say("disk       up to %.0f MB: checkpoints of %.1f MB, %d kept%s%s",
           (checkpoint * checkpoints + grid * n + log) / 1e6 + 1, checkpoint / 1e6, 1 + o->keep, grids, unused);
}

static void print_preset(const dg_options *o)
{
    char name[32];
    dg_option_get(o, dg_option_find("preset"), name, sizeof name);
    if (o->preset != DG_PRESET_AUTO)
        dg_say("preset     %s%s", name, dg_option_given(o, "preset") || o->resume ? "" : " (--preset auto)");
}

/* Print the summary of a run, and time a few training steps. All automatic values of o must be resolved. `memory` is
 * in bytes and covers the whole run. Returns DG_NUMBERS if a step computes NaN or infinity. */
static dg_err print_summary(const dg_options *o, const dg_job *job, const dg_dataset *data, double memory)
{
    const dg_backend *b = job->backend;
    print_images(o, job, data);
    print_network(job);
    dg_say("device     %s, %s", b->name, dg_precision_name(b->real, b->math));
    print_steps(o, data->train);
    print_preset(o);
    print_shards(o, job);
    const dg_err e = print_time(o, job, data);
    if (e) return e;
    dg_say("memory     %.0f MB%s", memory / 1e6, b->threads ? "" : " on host and device");
    print_disk(o, job, data);
    dg_say("results    %s", o->out);
    dg_say("next       run without --dry-run; --dry-run=ops lists all ops and their memory");
    return DG_OK;
}

static void print_json_launch(const dg_plan *p, int i)
{
    const dg_op *op = &p->op[i];
    const dg_launch *l = dg_plan_launch(p, i);
    const dg_tune *t = &op->tune;
    printf("\"block\": %d, \"tile\": [%d, %d], \"stages\": %d, \"split\": %d, \"kernels\": %d, \"because\": ", t->block,
           t->tile_m, t->tile_n, t->stages, t->split > 1 ? t->split : 1, dg_op_kernels(p, i));
    dg_json_text(stdout, t->why ? t->why : "");
    printf(", \"launch\": %d, ", l ? (int)(l - p->launch) : i);
}

static void print_json_plan(const dg_plan *p, int chain, bool first)
{
    const bool gpu = chain > 0;
    printf("%s\n  {\"name\": \"%s\", \"ops\": [", first ? "" : ",", p->name);
    for (int i = 0; i < p->ops; i++) {
        const dg_op *op = &p->op[i];
        int n;
        const dg_operand *operand = dg_operands(op->kind, &n);
        printf("%s\n    {\"name\": \"%s\", \"kind\": \"%s\", \"variant\": \"%s\", ", i ? "," : "", op->name,
               dg_op_kind_name(op->kind), op->tune.variant ? op->tune.variant->name : "");
        if (gpu) print_json_launch(p, i);
        printf("\"flop\": %.0f, \"bytes\": %.0f, \"operands\": {", dg_op_flops(op), dg_op_bytes(p, op));
        bool comma = false;
        for (int k = 0; k < n; k++) {
            const dg_row *r = dg_plan_row(p, op, k);
            if (!r) continue;
            printf("%s\"%s\": {\"row\": \"%s\", \"shape\": [%d, %d, %d, %d]}", comma ? ", " : "", operand[k].name,
                   r->name, r->shape.N, r->shape.H, r->shape.W, r->shape.C);
            comma = true;
        }
        printf("}}");
    }
    printf("]");
    if (gpu) printf(", \"kernels\": %d, \"dependent_kernels\": %d", dg_plan_kernels(p), chain);
    printf("}");
}

typedef struct {
    const dg_model *model;
    const dg_backend *backend;
    const dg_arena *arena;
    const dg_plan *plan[DG_PLANS];
} sheet;

static void begin_sheet(const sheet *s, bool json)
{
    const char *precision = dg_precision_name(s->backend->real, s->backend->math);
    if (json) {
        printf("{\"model\": \"%s\", \"backend\": ", s->model->name);
        dg_json_text(stdout, s->backend->name);
        printf(", \"precision\": \"%s\", \"plans\": [", precision);
    } else if (s->backend->threads == 0) {
        dg_say("for %s, %s", s->backend->name, precision);
        printf("\n");
    }
}

static dg_err print_all(const sheet *s, bool json)
{
    const bool gpu = s->backend->threads == 0;
    int chain[DG_PLANS] = {0};
    dg_err e = DG_OK;
    for (int i = 0; i < DG_PLANS && gpu && !e; i++)
        if (s->plan[i] && s->plan[i]->ops) e = dg_plan_chain(s->plan[i], &chain[i]);
    if (e) return e;
    begin_sheet(s, json);
    bool first = true;
    for (int i = 0; i < DG_PLANS; i++) {
        if (!s->plan[i] || !s->plan[i]->ops) continue;
        if (json) print_json_plan(s->plan[i], chain[i], first);
        else {
            dg_plan_print(s->plan[i], chain[i], stdout);
            printf("\n");
        }
        first = false;
    }
    if (json) printf("],\n \"arena_bytes\": %zu, \"persistent_bytes\": %zu}\n", s->arena->bytes, s->arena->persistent);
    else dg_arena_print(s->arena, stdout);
    return DG_OK;
}

static void print_run(const dg_options *o, int rows, int tests)
{
    const int short_batch = dg_images_of_epoch(o, rows) % o->batch;
    char last[64] = "", aside[64] = "";
    if (tests) snprintf(aside, sizeof aside, " (the training part; %d for testing)", tests);
    if (short_batch) snprintf(last, sizeof last, ", the last step with %d image%s", short_batch, dg_s(short_batch));
    const int steps = dg_steps_of_epoch(o, rows);
    dg_say("run %s: %d image%s%s, %d epoch%s of %d step%s%s", o->out, rows, dg_s(rows), aside, o->epochs,
           dg_s(o->epochs), steps, dg_s(steps), last);
    printf("\n");
}

static void print_part(const char *name, double bytes)
{
    if (bytes > 0) printf("  %-22s %9.3f\n", name, bytes / 1e6);
}

typedef struct {
    double decoded, records, matrix, finding, all;
} run_memory;

/* Memory for computing the ZCA whitening is freed before the memory of training is allocated. */
static run_memory memory_of(const dg_job *job, int images)
{
    const dg_model *m = &job->model;
    const bool whitened = m->input == DG_INPUT_ZCA;
    run_memory r = {.decoded = (double)images * m->size.W * m->size.H * m->channels,
                    .records = whitened ? (double)images * (double)dg_job_record_bytes(job) : 0,
                    .matrix = whitened ? dg_whitening_bytes(m->size, m->channels) : 0,
                    .finding = whitened ? dg_whitening_bytes_to_find(m->size, m->channels) : 0};
    r.all = (double)job->arena.bytes + r.decoded + r.records + r.matrix;
    for (int i = 0; i < job->arena.rows; i++)
        if (job->arena.row[i].kind == DG_OUTSIDE) r.all += (double)job->arena.row[i].bytes;
    if (r.decoded + r.finding > r.all) r.all = r.decoded + r.finding;
    return r;
}

static void print_host_memory(const run_memory *r)
{
    print_part("decoded images", r->decoded);
    print_part("records", r->records);
    print_part("whitening", r->matrix);
    print_part("whitening, temporary", r->finding);
    print_part("whole run", r->all);
}

static dg_err print_job(const dg_job *job, bool json)
{
    sheet all = {&job->model, job->backend, &job->arena, {0}};
    for (int i = 0; i < DG_PLANS; i++) all.plan[i] = &job->plan[i];
    return print_all(&all, json);
}

static dg_err dry_run(const dg_options *given, dg_model *model, dg_backend *b)
{
    dg_options o = *given;
    dg_dataset d = {0};
    dg_job job;
    dg_err e = dg_training_images(&o, model, dg_least_images(&o), &d);
    if (e) return e;
    const int tests = d.count - d.train + d.aside;
    dg_settle_batch(&o, d.train);
    dg_settle_length(&o, d.train);
    if (model->classes) dg_settle_classes(&o, d.train, model->classes);
    const dg_job_options g = dg_options_run(&o, o.batch, d.train, tests);
    e = dg_build_to_fit(&job, model, &g, b, o.device_memory);
    if (!e) {
        const run_memory memory = memory_of(&job, d.count);
        if (o.dry_run == DG_DRY_RUN_OPS) {
            print_run(&o, d.train, tests);
            e = print_job(&job, false);
            print_host_memory(&memory);
        } else e = print_summary(&o, &job, &d, memory.all);
        dg_job_free(&job);
    }
    dg_dataset_free(&d);
    return e;
}

static dg_err plan(const dg_options *o, const dg_model *model, dg_backend *b)
{
    dg_job job;
    dg_job_options g = dg_options_job(o);
    g.samples = g.tested = 64;
    g.rows = o->batch;
    dg_err e = dg_job_build(&job, model, &g, b);
    if (e) return e;
    e = print_job(&job, o->json);
    if (!e && !o->json) print_shards(o, &job);
    if (!e && !o->json)
        dg_say("This plan assumes a dataset of one batch; %s --data DIR --dry-run plans a whole run.", dg_program());
    dg_job_free(&job);
    return e;
}

static void print_largest(const dg_options *o, const sheet *s, int batch, size_t bytes, size_t have)
{
    const char *precision = dg_precision_name(s->backend->real, s->backend->math);
    if (o->json) {
        printf("{\"model\": \"%s\", \"backend\": ", s->model->name);
        dg_json_text(stdout, s->backend->name);
        printf(", \"precision\": \"%s\", \"largest_batch\": %d, \"bytes\": %zu, \"room_bytes\": %zu}\n", precision,
               batch, bytes, have);
        return;
    }
    dg_say("%s, %s on %s: the largest batch that fits is %d%s", s->model->name, precision, s->backend->name, batch,
           batch == DG_LARGEST_BATCH ? ", the limit of --batch" : "");
    dg_say("The largest batch needs %.1f of %.1f MB. These include two buffers of one batch each, through which the "
           "dataset is streamed.",
           (double)bytes / 1e6, (double)have / 1e6);
}

static dg_err plan_largest(const dg_options *o, const dg_model *model, dg_backend *b)
{
    dg_room room;
    dg_job job;
    dg_err e = dg_room_of(b, o->device_memory, &room);
    if (!e && room.unused == SIZE_MAX && !(o->device_memory > 0))
        e = dg_fail(
            DG_USAGE,
            DG_MSG(
                "memory-unknown",
                "--fit: unknown memory size of --arch %s; use a GPU name such as --arch h200, or --device-memory MB"),
            o->arch ? o->arch : "of another GPU");
    if (e) return e;
    dg_job_options g = dg_options_run(o, DG_LARGEST_BATCH, 0, DG_LARGEST_BATCH);
    int batch;
    e = dg_largest_batch(model, &g, b, &room, &batch);
    if (e) return e;
    g = dg_options_run(o, batch ? batch : 1, 2 * (batch ? batch : 1), batch);
    e = dg_build_to_fit(&job, model, &g, b, o->device_memory);
    if (e) return e;
    print_largest(o, &(sheet){.model = model, .backend = b}, batch, dg_fit_bytes(&job), room.have);
    dg_job_free(&job);
    g = dg_options_run(o, batch + 1, 2 * (batch + 1), batch + 1);
    size_t needed;
    if (o->json || batch == DG_LARGEST_BATCH) return DG_OK;
    e = dg_build_if_fits(&job, model, &g, b, &room, &needed);
    if (e == DG_DEVICE) return e;
    if (e) dg_say("A larger batch size fails, but not because of memory: %s", dg_message());
    else if (needed <= room.have) dg_job_free(&job);
    return DG_OK;
}

static dg_err plan_forward(const dg_options *o, const dg_model *model, dg_backend *b)
{
    dg_err e = DG_OK;
    if (o->json) printf("[");
    for (int net = 0; net < model->nets && !e; net++) {
        dg_arena a;
        dg_plan p;
        e = dg_build_forward(model, net, o->batch, b, &a, &p);
        if (e) break;
        const sheet one = {model, b, &a, {&p}};
        if (net) printf(o->json ? "," : "\n");
        e = print_all(&one, o->json);
        dg_plan_free(&p);
        dg_arena_free(&a, b);
    }
    if (o->json) printf("]\n");
    else if (!e)
        dg_say("dcgan cannot train this network; the plan is the forward pass of the network in evaluation mode.");
    return e;
}

static dg_err open_planner(const dg_options *o, dg_backend **b)
{
    dg_machine m;
    bool else_fp32;
    const dg_precision *p = dg_options_precision(o, &else_fp32);
    const dg_err e = dg_machine_arch(o->arch, p->real, &m);
    m.math = else_fp32 && !dg_math_on(p->math, m.arch) ? DG_MATH_FP32 : p->math;
    return e ? e : dg_planner_open(&m, o->tuning, o->fused, b);
}

static dg_err open_device(const dg_options *o, dg_backend **b)
{
    const dg_err e = dg_open_backend(o, b);
    if (e == DG_DEVICE && o->command == DG_CMD_PLAN && strncmp(o->device, "cuda", 4) == 0) {
        char why[DG_MESSAGE_BYTES];
        snprintf(why, sizeof why, "%s", dg_message());
        return dg_fail(e, "%s; use %s plan --arch sm_90 to plan without a GPU", why, dg_program());
    }
    return e;
}

int dg_cmd_plan(const dg_options *o)
{
    dg_model *model = malloc(sizeof *model);
    dg_backend *b = NULL;
    dg_st *init = NULL;
    if (!model) return (int)dg_fail(DG_DEVICE, "out of memory");
    dg_err e = dg_model_read(o->model, model);
    if (!e) e = o->arch ? open_planner(o, &b) : open_device(o, &b);
    const bool trains = !e && dg_recipe_find(model);
    const dg_recipe *recipe;
    if (!e && (o->largest || o->dry_run)) e = dg_recipe_for(model, &recipe);
    if (!e && o->dry_run && !o->resume) e = dg_train_weights(o, model, &init);
    dg_st_free(init);
    if (!e)
        e = o->dry_run   ? dry_run(o, model, b)
            : o->largest ? plan_largest(o, model, b)
            : trains     ? plan(o, model, b)
                         : plan_forward(o, model, b);
    if (b) b->close(b);
    free(model);
    return (int)e;
}
