/* Predicts the times of a plan's launches. */
#include "kernels/fused/predict_plan.h"

#include <math.h>

#include "core/tune/conv_tiles.h"

void dg_predict_launch(const dg_plan *p, const dg_launch *l, const dg_machine *m, dg_launch_cost *out)
{
    out->kernels = 0;
    out->parts = dg_launch_parts(p, l, out->part);
    if (!out->parts) return;
    const int kernels = dg_launch_kernels(p, l);
    if (kernels > DG_COST_KERNELS) return;
    const double own = kernels > 1 ? dg_op_bytes(p, &p->op[l->main]) : 0;
    for (int k = 0, i = 0; k < kernels; k++) {
        const int first = i;
        while (i < out->parts && out->part[i].kernel == k) i++;
        const double bytes = k && k == kernels - 1 ? own : dg_launch_bytes(p, l) - own;
        if (!dg_cost_of(out->part + first, i - first, bytes, m, &out->kernel[k])) return;
    }
    out->kernels = kernels;
}

static dg_prediction from_counts(const dg_launch_cost *c)
{
    dg_prediction r = {.kernels = c->kernels, .from = DG_FROM_COUNTS};
    for (int k = 0; k < c->kernels; k++) {
        const dg_cost *one = &c->kernel[k];
        r.us += one->us;
        r.bound_us += one->bound_us;
        r.launch_us += one->launch_us;
        *(one->arithmetic_us >= one->memory_us ? &r.arithmetic_us : &r.memory_us) += one->us - one->launch_us;
        r.blocks = fmax(r.blocks, one->blocks);
        if (one->near) r.from = DG_FROM_NEAR;
    }
    return r;
}

static dg_prediction predict_fused(const dg_plan *p, const dg_launch *l, const dg_machine *m)
{
    dg_launch_cost cost;
    dg_predict_launch(p, l, m, &cost);
    if (cost.kernels) return from_counts(&cost);
    const int kernels = dg_launch_kernels(p, l);
    dg_prediction r = {.kernels = kernels,
                       .launch_us = kernels * (m->launch_us + m->costs.wave_us),
                       .from = DG_FROM_FORMULA};
    for (int i = l->first; i < l->first + l->count; i++) {
        if (!dg_is_conv(p->op[i].kind)) continue;
        const dg_prediction one = dg_predict_gpu(&p->op[i], 0, m);
        r.arithmetic_us += one.arithmetic_us;
        r.memory_us += one.memory_us;
        if (one.blocks > r.blocks) r.blocks = one.blocks;
    }
    const double bytes = dg_launch_bytes(p, l), rate = bytes <= m->cache_mb * 1e6 && m->cache > 0 ? m->cache : m->triad;
    if (rate > 0 && bytes / rate * 1e-3 > r.memory_us) r.memory_us = bytes / rate * 1e-3;
    return r;
}

dg_prediction dg_predict(const dg_plan *p, const dg_op *op, const dg_machine *m)
{
    const int number = (int)(op - p->op);
    const dg_launch *l = dg_plan_launch(p, number);
    const bool fused = dg_plan_fused(p, number);
    if (fused && l->main != number) return (dg_prediction){.bound = DG_BOUND_FUSED};
    const double bytes = dg_op_bytes(p, op);
    dg_prediction r = fused    ? predict_fused(p, l, m)
                      : m->gpu ? dg_predict_gpu(op, bytes, m)
                               : dg_predict_cpu(op, bytes, m);
    const double work = fmax(r.arithmetic_us, r.memory_us);
    if (r.from == DG_FROM_FORMULA) r.us = r.launch_us + work, r.bound_us = work;
    r.bound = r.launch_us >= work              ? DG_BOUND_LAUNCH
              : r.arithmetic_us >= r.memory_us ? DG_BOUND_ARITHMETIC
                                               : DG_BOUND_MEMORY;
    return r;
}

const char *dg_bound_name(dg_bound bound)
{
    static const char *const name[DG_BOUNDS] = {"launch", "arithmetic", "memory", "fused"};
    return name[bound];
}
