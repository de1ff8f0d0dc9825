/* `dcgan bench [MODEL ...]`: measures peak rates of the machine and the training step. `dcgan profile [MODEL]`: prints
 * measured and predicted time of each op of a training step. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/measure/bench.h"
#include "host/cli/commands.h"
#include "host/net/job.h"
#include "kernels/cuda/planner.h"
#include "core/base/shell.h"
#include "core/tune/evidence.h"

static void print_cpu(const dg_machine *m)
{
    const char *s = m->units == 1 ? "" : "s";
    printf("FMA peak       %8.1f GFLOP/s on one thread, %.1f on all threads (%d); best run of %d, measured between the "
           "training steps\n",
           m->one, m->all, m->units, m->rounds);
    printf("memory         %8.1f GB/s triad, %.1f GB/s read, %d thread%s, arrays of %.0f MB (best run of %d)\n",
           m->triad, m->read, m->units, s, m->array_mb, m->rounds);
    printf("cache          %8.1f GB/s triad within %.1f MB; a parallel loop costs %.1f us\n", m->cache, m->cache_mb,
           m->launch_us);
}

static void print_gpu(const dg_machine *m)
{
    printf("sm_%d, %d multiprocessors, %s\n", m->arch, m->units,
           strcmp(m->source, "measured") == 0
               ? "measured here"
               : "published numbers and assumptions; nothing was measured on this machine");
    printf("FMA peak       %8.0f GFLOP/s", m->all);
    if (m->rounds > 0) printf("; best run of %d, measured between the training steps", m->rounds);
    printf("\n");
    if (m->bf16 > 0) printf("tensor cores   %8.0f GFLOP/s bf16, %.0f fp16, by mma.sync\n", m->bf16, m->fp16);
    else if (m->fp16 > 0) printf("tensor cores   %8.0f GFLOP/s fp16, by mma.sync\n", m->fp16);
    printf("memory         %8.0f GB/s; cache %.0f GB/s within %.0f MB\n", m->triad, m->cache, m->cache_mb);
    printf("launch         %8.2f us per empty kernel\n", m->launch_us);
    const dg_machine_costs *c = &m->costs;
    printf(
        "costs          %8.2f us per dependent launch, %.2f us per wave of blocks, %.2f us to detect the last block of "
        "a launch\n",
        c->after_us, c->wave_us, c->last_us);
    printf("reached        %8.2f of the shared memory rate, %.2f of the cache rate, %.2f of the tensor core rate; "
           "%.2f, %.2f, %.2f, %.2f instructions per clock with 1 to 4 warps\n",
           c->l1, c->l2, c->tensor, c->issued[0], c->issued[1], c->issued[2], c->issued[3]);
}

static void print_constants(const char *kind, const char *constants)
{
    if (constants) printf("%-14s %s\n", kind, constants);
}

static void print_evidence(const dg_machine *m)
{
    const dg_evidence *e = dg_evidence_of(m);
    printf("constants of the cost model:\n");
    print_constants("  measured", e->measured);
    print_constants("  fitted", e->fitted);
    print_constants("  published", e->published);
    print_constants("  assumed", e->assumed);
    printf("last prediction that was checked (%s):", e->where);
    for (int i = 0; i < DG_COMPARED && e->compared[i].model; i++) {
        const dg_compared *c = &e->compared[i];
        printf("%s %s, batch %d: %.4g ms predicted, %.4g ms measured (%.2f times)", i ? ";" : "", c->model, c->batch,
               c->predicted_ms, c->measured_ms, c->measured_ms / c->predicted_ms);
    }
    printf("\n");
}

static void print_machine(const dg_machine *m, const char *device)
{
    const char *name = *m->name ? m->name : "this machine";
    if (*device) dg_say("%s: %s, %s", name, device, dg_precision_name(m->real, m->math));
    else dg_say("%s, %s", name, dg_precision_name(m->real, m->math));
    if (m->all > 0) m->gpu ? print_gpu(m) : print_cpu(m);
    print_evidence(m);
    if (m->foreign >= 0)
        printf("other programs %8.2f cores on average%s\n", m->foreign,
               !m->gpu && m->foreign > 0.1 ? ": all measured rates are lower than on an idle machine" : "");
}

static const dg_variant *sparing(const dg_bench_model *r)
{
    for (int i = 0; i < r->ops; i++)
        if (r->op[i].variant && r->op[i].variant->arithmetic) return r->op[i].variant;
    return NULL;
}

static void print_step(const dg_machine *m, const dg_bench_model *r)
{
    const double median = dg_timing_median(&r->step);
    printf("\n%s, batch %d: median %.4g ms, best %.4g ms per step (runs: %d", r->model, r->batch, median, r->step.best,
           r->step.n);
    if (r->in_flight > 1) printf(" of %d steps%s", r->in_flight, m->gpu ? ", in CUDA graphs as in training" : "");
    printf("), %.1f images/s\n", r->batch / median * 1e3);
    printf("%.2f GFLOP per step (convolutions counted as direct): %.1f GFLOP/s", r->flops * 1e-9,
           dg_gflops(r->flops, median));
    if (m->all > 0)
        printf(" = %.1f%% of the FMA peak above (best step: %.1f%%)", dg_percent(dg_gflops(r->flops, median), m->all),
               dg_percent(dg_gflops(r->flops, r->step.best), m->all));
    printf("\n%d ops", r->ops);
    if (m->gpu) printf(", %d kernels, %d in the longest chain of dependent kernels", r->kernels, r->chain);
    printf("; the cost model predicts %.4g ms, measured were %.2f times as many\n", r->predicted_us * 1e-3,
           1e3 * median / r->predicted_us);
    if (sparing(r))
        printf("Ops of variant %s compute fewer multiplications than the FLOP count assumes, so their rate can exceed "
               "100%% of the peak.\n",
               sparing(r)->name);
}

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
            printf("%-24s %9.4f %9.4f %5.1f%% %9.2f %8.2f\n", r->op[i].kind, ms, best, dg_percent(ms, sum),
                   dg_gflops(flops, ms), bytes / ms * 1e-6);
    }
}

static void print_model(const dg_machine *m, const dg_bench_model *r)
{
    print_step(m, r);
    print_kinds(r);
}

static void print_op(const char *name, const char *kind, const char *variant, double us, double all_us, double flops,
                     double bytes, const dg_machine *m, const char *bound, double predicted)
{
    printf("%-24s %-11s %-9s", name, kind, variant);
    if (all_us > 0)
        printf(" %10.2f %5.1f%% %9.4f %8.1f %5.1f%% %8.3f %7.1f %5.1f%%", us, dg_percent(us, all_us), flops * 1e-9,
               dg_gflops(flops, us * 1e-3), dg_percent(dg_gflops(flops, us * 1e-3), m->all), bytes * 1e-6,
               us > 0 ? bytes / us * 1e-3 : 0, dg_percent(us > 0 ? bytes / us * 1e-3 : 0, m->triad));
    else printf(" %9.4f %8.3f", flops * 1e-9, bytes * 1e-6);
    printf("  %-10s %10.2f", bound, predicted);
    if (all_us > 0 && predicted > 0) printf(" %6.2f", us / predicted);
    printf("\n");
}

static void print_totals(const dg_bench_model *r, double sum)
{
    const double step = dg_timing_median(&r->step) * 1e3;
    double by[DG_BOUNDS] = {0};
    for (int i = 0; i < r->ops; i++) by[r->op[i].predicted.bound] += r->op[i].predicted.us;
    printf("\ncost model: %.2f us: %.2f for ops bound by arithmetic, %.2f by memory, %.2f by launches\n",
           r->predicted_us, by[DG_BOUND_ARITHMETIC], by[DG_BOUND_MEMORY], by[DG_BOUND_LAUNCH]);
    if (step > 0)
        printf("sum of ops %.2f us, whole step %.2f us (ratio %.2f); step / cost model %.2f\n", sum, step, step / sum,
               step / r->predicted_us);
}

static void print_launch(const char *name, const char *kind, double blocks, const char *limit, double bound, double us,
                         dg_from from)
{
    static const char *const mark[] = {[DG_FROM_COUNTS] = "",
                                       [DG_FROM_NEAR] = "  by the work of a similar launch",
                                       [DG_FROM_FORMULA] = "  by formula"};
    printf("%-24s %-56s ", name, kind);
    if (blocks > 0) printf("%7.0f", blocks);
    else printf("%7s", "");
    printf("  %-10s %9.2f %11.2f%s\n", limit, bound, us, mark[from]);
}

static void print_launches(const dg_bench_model *r)
{
    double bound = 0, us = 0;
    printf("\n%-24s %-56s %7s  %-10s %9s %11s\n", "launch", "blocks of", "blocks", "bound by", "bound us",
           "estimate us");
    for (int i = 0; i < r->launches; i++) {
        const dg_launch_cost *c = &r->launch[i].cost;
        const dg_bench_op *o = &r->op[r->launch[i].op];
        const dg_prediction *p = &o->predicted;
        bound += p->bound_us;
        us += p->us;
        if (!c->kernels)
            print_launch(o->name, o->variant ? o->variant->name : o->kind, p->blocks, dg_bound_name(p->bound),
                         p->bound_us, p->us, p->from);
        for (int k = 0, part = 0; k < c->kernels; k++) {
            const dg_cost *one = &c->kernel[k];
            print_launch(o->name, c->part[part].kind, one->blocks, dg_limit_name(one->limit), one->bound_us, one->us,
                         one->near ? DG_FROM_NEAR : DG_FROM_COUNTS);
            while (part < c->parts && c->part[part].kernel == k) part++;
        }
    }
    print_launch("all launches", "", 0, "", bound, us, DG_FROM_COUNTS);
}

static void print_graph_row(const char *name, double blocks, double us, double model, double instructions, double ghz)
{
    printf("%-24s", name);
    if (blocks > 0) printf(" %7.0f", blocks);
    else printf(" %7s", "-");
    printf(" %11.2f %9.2f %6.2f", us, model, model > 0 ? us / model : 0);
    if (instructions > 0) printf(" %13.0f %12.1f", instructions, us * ghz * 1e3 / instructions);
    printf("\n");
}

static void print_graphs(const dg_machine *m, const dg_bench_model *r)
{
    double model = 0;
    printf("\nlaunches in CUDA graphs, as differences of graphs that end after each launch; clocks at %.3f GHz\n",
           dg_machine_ghz(m));
    printf("%-24s %7s %11s %9s %6s %13s %12s\n", "launch", "blocks", "measured us", "model us", "ratio", "instr/warp",
           "clocks/instr");
    for (int i = 0; i < r->launches; i++) {
        const dg_launch_sum s = dg_bench_sum(r, &r->launch[i]);
        model += s.us;
        print_graph_row(r->op[r->launch[i].op].name, s.blocks, r->launch[i].graph_us, s.us, s.instructions,
                        dg_machine_ghz(m));
    }
    print_graph_row("step", 0, r->graph_us, model, 0, 0);
}

static void print_profile(const dg_machine *m, const dg_bench_model *r)
{
    double sum = 0;
    for (int i = 0; i < r->ops; i++) sum += dg_timing_median(&r->op[i].ms) * 1e3;
    if (r->step.n) print_step(m, r);
    else
        printf("\n%s, batch %d: %d ops, %d kernels, %d in the longest chain of dependent kernels\n", r->model, r->batch,
               r->ops, r->kernels, r->chain);
    printf("\n%-24s %-11s %-9s", "op", "kind", "variant");
    if (sum > 0)
        printf(" %10s %6s %9s %8s %6s %8s %7s %6s", "median us", "share", "GFLOP", "GFLOP/s", "peak", "MB", "GB/s",
               "memory");
    else printf(" %9s %8s", "GFLOP", "MB");
    printf("  %-10s %10s%s\n", "bound by", "model us", sum > 0 ? "  ratio" : "");
    for (int i = 0; i < r->ops; i++) {
        const dg_bench_op *o = &r->op[i];
        print_op(o->name, o->kind, o->variant ? o->variant->name : "", dg_timing_median(&o->ms) * 1e3, sum, o->flops,
                 o->bytes, m, dg_bound_name(o->predicted.bound), o->predicted.us);
    }
    print_op("all ops", "", "", sum, sum, r->flops, r->bytes, m, "", r->predicted_us);
    print_totals(r, sum);
    if (m->gpu) print_launches(r);
    if (r->graph_us > 0) print_graphs(m, r);
}

static dg_err measure(const dg_options *o, dg_backend *b, dg_machine *machine, dg_bench_model *result, int *done)
{
    dg_model *model = malloc(sizeof *model);
    if (!model) return dg_fail(DG_DEVICE, "out of memory for a model");
    dg_busy load;
    dg_busy_start(&load);
    if (!o->quiet) fprintf(stderr, "measuring peak and memory ...\n");
    dg_err e = dg_machine_measure(machine, b, o->repeats);
    for (int i = 0; (i < o->operands || i == 0) && !e; i++) {
        e = dg_model_read(o->operands ? o->operand[i] : o->model, model);
        if (!e && !o->quiet) fprintf(stderr, "measuring %s, batch %d ...\n", model->name, o->batch);
        if (!e) e = dg_bench_measure(&result[(*done)++], machine, model, o->batch, o->repeats, b);
    }
    machine->foreign = dg_busy_foreign(&load);
    free(model);
    return e;
}

int dg_cmd_bench(const dg_options *o)
{
    dg_backend *b = NULL;
    dg_machine machine;
    int done = 0;
    dg_err e = dg_open_backend(o, &b);
    dg_bench_model *result = e ? NULL : calloc((size_t)o->operands + 1, sizeof *result);
    if (!e && !result) e = dg_fail(DG_DEVICE, "out of memory for the results");
    if (!e) e = measure(o, b, &machine, result, &done);
    if (!e && o->json) e = dg_bench_json(&machine, result, done, b->name);
    else if (!e) {
        print_machine(&machine, b->name);
        for (int i = 0; i < done; i++) print_model(&machine, &result[i]);
    }
    for (int i = 0; i < done; i++) dg_bench_free(&result[i]);
    free(result);
    if (b) b->close(b);
    return (int)e;
}

static dg_err show(const dg_options *o, const dg_machine *m, const dg_bench_model *r, const char *device)
{
    if (o->json) return dg_bench_json(m, r, 1, device);
    print_machine(m, device);
    print_profile(m, r);
    return DG_OK;
}

static dg_err profile(const dg_options *o, const dg_model *model)
{
    dg_backend *b = NULL;
    dg_machine machine;
    dg_bench_model result = {.ops = 0};
    dg_busy load;
    dg_err e = dg_open_backend(o, &b);
    if (e == DG_DEVICE && strncmp(o->device, "cuda", 4) == 0) {
        char why[DG_MESSAGE_BYTES];
        snprintf(why, sizeof why, "%s", dg_message());
        return dg_fail(e, DG_MSG("device-profile", "%s; use %s profile --predict h200 for a prediction without a GPU"),
                       why, dg_program());
    }
    if (e) return e;
    if (o->in_graph && !b->time_graph) {
        e = dg_fail(DG_USAGE, DG_MSG("in-graph-device", "--in-graph: %s has no CUDA graphs; use --device cuda"),
                    b->name);
        b->close(b);
        return e;
    }
    dg_busy_start(&load);
    if (!o->quiet)
        fprintf(stderr, DG_MSG("note-measuring", "measuring the machine and %s, batch %d ...\n"), model->name,
                o->batch);
    e = dg_machine_measure(&machine, b, o->repeats);
    if (!e) e = dg_bench_measure(&result, &machine, model, o->batch, o->repeats, b);
    if (!e && o->in_graph) e = dg_bench_graphs(&result, model, o->repeats, b);
    machine.foreign = dg_busy_foreign(&load);
    if (!e) e = show(o, &machine, &result, b->name);
    dg_bench_free(&result);
    b->close(b);
    return e;
}

static dg_err predict(const dg_options *o, const dg_model *model)
{
    dg_backend *b = NULL;
    dg_machine machine;
    dg_bench_model result = {.ops = 0};
    dg_job job;
    dg_job_options g;
    bool else_fp32;
    const dg_precision *p = dg_options_precision(o, &else_fp32);
    dg_err e = dg_options_model_job(model, &g);
    g.batch = g.rows = o->batch;
    if (!e) e = dg_machine_find(o->predict, p->real, &machine);
    if (e) return e;
    machine.math = else_fp32 && !dg_math_on(p->math, machine.arch) ? DG_MATH_FP32 : p->math;
    if (!e) e = dg_planner_open(&machine, o->tuning, o->fused, &b);
    if (e) return e;
    e = dg_job_build(&job, model, &g, b);
    if (!e) {
        e = dg_bench_predict(&result, &machine, &job.plan[DG_PLAN_TRAIN], model->name, o->batch);
        if (!e) e = show(o, &machine, &result, "");
        dg_bench_free(&result);
        dg_job_free(&job);
    }
    b->close(b);
    return e;
}

int dg_cmd_profile(const dg_options *o)
{
    dg_model *model = malloc(sizeof *model);
    if (!model) return (int)dg_fail(DG_DEVICE, "out of memory for a model");
    dg_err e = dg_model_read(o->model, model);
    if (!e) e = o->predict ? predict(o, model) : profile(o, model);
    free(model);
    return (int)e;
}
