/* A backend that only chooses: for a GPU that is not here. It has no memory and runs nothing. */
#include "planner.h"

#include <stdio.h>
#include <stdlib.h>

#include "tune.h"

typedef struct {
    dg_backend base; /* first, so that a dg_backend pointer is a planner pointer */
    dg_gpu gpu;
    dg_tune_table file, shipped;
} planner;

/* The order of the CUDA backend: the file, what is shipped, the rule. */
static const char *planner_refuses(dg_backend *b, dg_op *op)
{
    planner *p = (planner *)b;
    const dg_tune_table *table[] = {&p->file, &p->shipped};
    for (int i = 0; i < 2 && b->real == DG_F32; i++) {
        const dg_tune_row *row = dg_tune_find(table[i], op, p->gpu.arch);
        if (!row) continue;
        dg_tune tune = row->tune;
        tune.why = row->why;
        if (dg_variant_check(op, &tune, b->real, &p->gpu)) continue;
        op->tune = tune;
        return NULL;
    }
    return dg_variant_choose(op, &op->tune, b->real, &p->gpu);
}

static size_t planner_scratch(dg_backend *b, const dg_op *op)
{
    (void)b;
    (void)op;
    return 0;
}

static void planner_close(dg_backend *b)
{
    planner *p = (planner *)b;
    dg_tune_free(&p->file);
    dg_tune_free(&p->shipped);
    free(p);
}

dg_err dg_planner_open(const dg_machine *m, const char *tuning, dg_backend **out)
{
    *out = NULL;
    planner *p = calloc(1, sizeof *p);
    if (!p) return dg_fail(DG_DEVICE, "out of memory for a plan");
    p->gpu = (dg_gpu){m->arch, m->shared};
    p->base = (dg_backend){.real = m->real, .refuses = planner_refuses, .scratch = planner_scratch, .close = planner_close};
    snprintf(p->base.name, sizeof p->base.name, "%.50s, not here", m->name);
    const char *name, *text;
    for (int i = 0; (text = dg_tune_shipped(i, &name)) != NULL; i++) (void)dg_tune_parse(&p->shipped, text, name, DG_F32, &p->gpu);
    dg_err e = tuning ? dg_tune_read(&p->file, tuning, DG_F32, &p->gpu) : DG_OK;
    if (e == DG_USAGE) {
        dg_warn("%s; what is wrong is left out", dg_message());
        e = DG_OK;
    }
    if (e)
        planner_close(&p->base);
    else
        *out = &p->base;
    return e;
}
