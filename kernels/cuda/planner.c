/* Backend for an absent GPU: chooses kernel variants and allocates no memory. */
#include "kernels/cuda/planner.h"

#include <stdio.h>
#include <stdlib.h>

#include "kernels/fused/fused.h"
#include "kernels/cuda/choose.h"
#include "core/plan/work.h"
#include "kernels/ops/ops.h"

typedef struct {
    dg_backend base;
    dg_chooser chooser;
    unsigned fuse;
    double memory_gb;
} planner;

static dg_err planner_memory(dg_backend *b, size_t *unused, size_t *total)
{
    const double bytes = 1e9 * ((planner *)b)->memory_gb;
    *unused = *total = bytes > 0 ? (size_t)bytes : SIZE_MAX;
    return DG_OK;
}

static const char *planner_refuses(dg_backend *b, dg_op *op)
{
    return dg_chooser_pick(&((planner *)b)->chooser, op, NULL);
}

static size_t planner_scratch(dg_backend *b, const dg_op *op) { return dg_scratch_of(op, b->real); }

static dg_err planner_fuse(dg_backend *b, struct dg_plan *p)
{
    const planner *mine = (const planner *)b;
    return dg_fuse_plan(p, mine->fuse, b->real, &mine->chooser.gpu);
}

static void planner_close(dg_backend *b)
{
    dg_chooser_close(&((planner *)b)->chooser);
    free(b);
}

dg_err dg_planner_open(const dg_machine *m, const char *tuning, unsigned fuse, dg_backend **out)
{
    *out = NULL;
    dg_ops_use(dg_op_table);
    planner *p = calloc(1, sizeof *p);
    if (!p) return dg_fail(DG_DEVICE, "out of memory for a plan");
    p->base = (dg_backend){.real = m->real,
                           .math = m->math,
                           .memory = planner_memory,
                           .refuses = planner_refuses,
                           .scratch = planner_scratch,
                           .fuse = planner_fuse,
                           .close = planner_close};
    p->fuse = fuse;
    p->memory_gb = m->memory_gb;
    snprintf(p->base.name, sizeof p->base.name, "%.50s, not here", m->name);
    const dg_err e = dg_chooser_open(&p->chooser, tuning, m->real,
                                     &(dg_gpu){m->arch, m->shared, m->math, m->arch == 90});
    if (e) planner_close(&p->base);
    else *out = &p->base;
    return e;
}
