/* `dcgan bench [MODEL ...]`: measures peak rates of the machine and the training step. */
#include <stdio.h>
#include <stdlib.h>

#include "host/measure/bench.h"
#include "host/cli/bench_print.h"
#include "host/cli/commands.h"

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
        dg_bench_print_machine(&machine, b->name);
        for (int i = 0; i < done; i++) dg_bench_print(&machine, &result[i]);
    }
    for (int i = 0; i < done; i++) dg_bench_free(&result[i]);
    free(result);
    if (b) b->close(b);
    return (int)e;
}
