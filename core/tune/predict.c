/* Predicted times: the CPU's half, and the choice. */
#include "core/tune/predict.h"

#include <stdbool.h>
#include <string.h>

/* Parts of the peak. Direct sums reach 90 to 95% of it on wide layers, less what packing costs; minimal filtering
 * streams its transformed tiles through the cache between its products. Transforms are additions without products
 * behind loads and stores: a quarter of the peak. */
#define DIRECT 0.85
#define FILTERED 0.7
#define TRANSFORM 0.25

enum { LANES = 16 }; /* channels that are computed together */

static double up(double a, double b) { return (double)(int64_t)((a + b - 1) / b); }

static bool is_conv(const dg_op *op)
{
    return op->kind == DG_OP_conv_fwd || op->kind == DG_OP_conv_dx || op->kind == DG_OP_conv_dw;
}

/* The part of the lanes that holds channels. Few channels of x are taken together with phases or taps. */
static double filled(const dg_op *op)
{
    const dg_conv_args *a = &op->u.conv;
    double channels = op->kind == DG_OP_conv_fwd ? a->Co : a->Ci;
    if (channels < LANES && op->kind == DG_OP_conv_dx) channels *= (double)a->S * a->S;
    if (channels < LANES && op->kind == DG_OP_conv_dw) channels *= a->K;
    return channels / (up(channels, LANES) * LANES);
}

/* Tiles of m x m outputs from (m+1)^2 products an input channel and phase, where direct sums need 4 m^2. */
static double filtered_us(const dg_op *op, const dg_machine *m)
{
    const dg_conv_args *a = &op->u.conv;
    const bool dx = op->kind == DG_OP_conv_dx;
    const int high = dx ? (a->H + a->S - 1) / a->S : a->Ho, wide = dx ? (a->W + a->S - 1) / a->S : a->Wo;
    const int side = high % 4 == 0 && wide % 4 == 0 ? 4 : 2;
    const double points = (side + 1.0) * (side + 1.0), tiles = a->N * up(high, side) * up(wide, side),
                 phases = (double)a->S * a->S;
    const double products = 2 * points * tiles * phases * a->Ci * a->Co;
    /* two axes, about two operations a point and axis; the phases of x are transformed one by one */
    const double transforms = 4 * points * tiles * (phases * a->Ci + a->Co);
    return (products / FILTERED + transforms / TRANSFORM) / m->all * 1e-3;
}

dg_prediction dg_predict_cpu(const dg_op *op, double bytes, const dg_machine *m)
{
    dg_prediction r = {.kernels = 1, .launch_us = m->launch_us};
    if (m->all > 0) {
        if (!is_conv(op)) r.arithmetic_us = dg_op_flops(op) / m->all * 1e-3;
        else if (op->tune.variant && strcmp(op->tune.variant, "winograd") == 0) r.arithmetic_us = filtered_us(op, m);
        else r.arithmetic_us = dg_op_flops(op) / (m->all * DIRECT * filled(op)) * 1e-3;
    }
    const double rate = bytes <= m->cache_mb * 1e6 && m->cache > 0 ? m->cache : m->triad;
    if (rate > 0) r.memory_us = bytes / rate * 1e-3;
    return r;
}

/* All of a fused launch. The parts of sums are added by the kernel itself: they are moved still, but nothing waits. */
static dg_prediction predict_launch(const dg_plan *p, const dg_launch *l, const dg_machine *m)
{
    dg_prediction r = {.kernels = 1, .launch_us = m->launch_us};
    for (int i = l->first; i < l->first + l->count; i++) {
        if (!is_conv(&p->op[i])) continue;
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
    dg_prediction r = fused    ? predict_launch(p, l, m)
                      : m->gpu ? dg_predict_gpu(op, bytes, m)
                               : dg_predict_cpu(op, bytes, m);
    const double work = r.arithmetic_us > r.memory_us ? r.arithmetic_us : r.memory_us;
    r.us = r.launch_us + work;
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
