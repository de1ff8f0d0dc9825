/* `dcgan profile [MODEL]`: measured and predicted time of a step, op by op. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/measure/bench.h"
#include "host/cli/bench_print.h"
#include "host/cli/commands.h"
#include "host/net/job.h"
#include "kernels/cuda/planner.h"
#include "core/base/shell.h"

static dg_err show(const dg_options *o, const dg_machine *m, const dg_bench_model *r, const char *device)
{
    if (o->json) return dg_bench_json(m, r, 1, device);
    dg_bench_print_machine(m, device);
    dg_profile_print(m, r);
    return DG_OK;
}

static dg_err measure(const dg_options *o, const dg_model *model)
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
    dg_busy_start(&load);
    if (!o->quiet)
        fprintf(stderr, DG_MSG("note-measuring", "measuring the machine and %s, batch %d ...\n"), model->name,
                o->batch);
    e = dg_machine_measure(&machine, b, o->repeats);
    if (!e) e = dg_bench_measure(&result, &machine, model, o->batch, o->repeats, b);
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
    if (!e) e = o->predict ? predict(o, model) : measure(o, model);
    free(model);
    return (int)e;
}
