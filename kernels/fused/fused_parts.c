/* Describes the blocks of fused launches for the cost model. */
#include <stdio.h>

#include "kernels/fused/fuse_launch.h"
#include "core/plan/precision.h"
#include "kernels/fused/predict_plan.h"
#include "kernels/fused/fused_update.h"
#include "kernels/ops/conv/cuda/conv_rows.h"

static const char *epilogue_name(const dg_epilogue *s)
{
    static const char *const name[] = {[DG_EPILOGUE_PLAIN] = "plain",
                                       [DG_EPILOGUE_ACT] = "act",
                                       [DG_EPILOGUE_ACT_DX] = "act_dx",
                                       [DG_EPILOGUE_STATS] = "stats",
                                       [DG_EPILOGUE_NORM_DX] = "norm_dx"};
    return name[s->kind];
}

/* Returns the number of partial sums that the epilogue merges. If there are clusters, returns the total of both
 * merges. */
static double merged(const dg_epilogue *s, int per_group, int channels)
{
    if (s->kind != DG_EPILOGUE_STATS && s->kind != DG_EPILOGUE_NORM_DX) return 0;
    const int clusters = dg_epilogue_clusters(per_group, s->groups, channels);
    return clusters ? DG_EPILOGUE_CLUSTER + clusters * s->groups : per_group * s->groups;
}

static dg_cost_part mma_part(const dg_op *op, const dg_fused_conv *f, bool factors)
{
    const dg_tune *t = &op->tune;
    const dg_fused_mma_grid g = dg_fused_mma_grid_of(op->kind, f, t);
    dg_cost_part c = {.blocks = (double)g.blocks * g.columns * t->split,
                      .most = (double)g.channels / DG_MMA_CHUNK,
                      .rest = t->split > 1 ? 1.0 / t->split : 0,
                      .merged = merged(&f->out, g.merged, t->tile_n)};
    c.steps = c.most;
    if (g.cluster > 1) c.cluster = g.cluster, c.joined = g.joined;
    snprintf(c.kind, sizeof c.kind, "%s %s_%s %dx%d %s>%s%s%s%s", op->kind == DG_OP_conv_fwd ? "fwd" : "dx",
             t->variant->name, dg_precision_name(DG_F32, t->math), t->tile_m, t->tile_n, dg_prologue_name(&f->in),
             epilogue_name(&f->out), dg_mma_is_small(&f->conv) ? " small" : "", t->split > 1 ? " parts" : "",
             factors ? " factors" : "");
    return c;
}

static dg_cost_part thin_part(const dg_op *op, const dg_fused_conv *f)
{
    const dg_conv_args *a = &f->conv;
    dg_work w = dg_work_of(op, DG_F32);
    dg_cost_part c = {.blocks = w.blocks, .most = 1};
    if (op->kind == DG_OP_conv_dx) {
        c.most = dg_ceil_divf(a->Co, DG_THIN_MMA_CHUNK) * dg_ceil_divf(a->Wo, DG_THIN_MMA_COLS);
    } else {
        const int columns = dg_ceil_div(a->Co, DG_THIN_TILE_CHANNELS), group = a->N / f->out.groups *
                                                                               dg_ceil_div(a->Ho, DG_THIN_TILE_ROWS) *
                                                                               dg_ceil_div(a->Wo, DG_THIN_TILE_COLS);
        c.merged = merged(&f->out, group, DG_THIN_TILE_CHANNELS);
        c.rest = (double)f->gather.N / a->N / columns;
    }
    c.steps = c.most;
    snprintf(c.kind, sizeof c.kind, "%s %s_%s %d %s>%s", op->kind == DG_OP_conv_fwd ? "fwd" : "dx",
             op->tune.variant->name, dg_precision_name(DG_F32, op->tune.math), a->Ci, dg_prologue_name(&f->in),
             epilogue_name(&f->out));
    return c;
}

static dg_cost_part dense_part(const dg_fused_conv *f)
{
    const dg_conv_args *a = &f->conv;
    const int blocks = dg_ceil_div(a->N, DG_DENSE_IMAGES) * dg_conv_pixels(a);
    dg_cost_part c = {.blocks = (double)blocks * dg_ceil_div(dg_conv_channels(a), DG_DENSE_CHANNELS),
                      .steps = a->Co / 16.0,
                      .most = a->Co / 16.0,
                      .merged = merged(&f->out, blocks, DG_DENSE_CHANNELS)};
    snprintf(c.kind, sizeof c.kind, "dx dense_fp32 %dx%d %s>%s", DG_DENSE_IMAGES, DG_DENSE_CHANNELS,
             f->noise.n ? "noise" : "plain", epilogue_name(&f->out));
    return c;
}

static int conv_parts(const dg_plan *p, const dg_launch *l, dg_cost_part *out)
{
    const dg_op *op = &p->op[l->main];
    const dg_fused_conv f = dg_fused_conv_of(p, l);
    const bool factors = op->operand[dg_operand_index(op->kind, dg_fuse_input(op))].factors;
    switch (dg_fused_family_of(op->kind, &op->u.conv, &op->tune)) {
    case DG_FUSED_MMA:
    case DG_FUSED_WGMMA: *out = mma_part(op, &f, factors); return 1;
    case DG_FUSED_THIN:
    case DG_FUSED_THIN_MMA: *out = thin_part(op, &f); return 1;
    case DG_FUSED_DENSE: *out = dense_part(&f); return 1;
    case DG_FUSED_GEMV:
    case DG_FUSED_NONE: break;
    }
    return 0;
}

static int head_parts(const dg_plan *p, const dg_launch *l, dg_cost_part *out)
{
    const dg_fused_head h = dg_fused_head_of(p, l);
    *out = (dg_cost_part){.blocks = h.N,
                          .steps = h.pixels * h.C / 1024.0,
                          .most = h.pixels * h.C / 1024.0,
                          .merged = merged(&h.out, h.N / h.out.groups, dg_head_channels(h.C))};
    snprintf(out->kind, sizeof out->kind, "head fp32 image %s>%s", dg_prologue_name(&h.in), epilogue_name(&h.out));
    return 1;
}

static int update_parts(const dg_plan *p, const dg_launch *l, dg_cost_part *out)
{
    const dg_fused_update u = dg_fused_update_of(p, l);
    const dg_math math = dg_update_math(&u);
    const int kernels = dg_launch_kernels(p, l);
    dg_update_layout layout;
    int n = 0;
    dg_update_layout_of(&u, &layout);
    for (int k = 0; k < kernels - 2; k++) out[n++] = (dg_cost_part){.kind = "factors", .kernel = k, .blocks = 1};
    for (int i = 0; i < layout.jobs; i++) {
        dg_update_part(&layout.job[i], math, &out[n]);
        out[n++].kernel = kernels - 2;
    }
    dg_cost_part *adam = &out[n++];
    dg_update_adam_part(layout.job, layout.jobs, u.adam.n, math, adam);
    adam->kernel = kernels - 1;
    adam->steps *= adam->blocks / layout.consumers;
    adam->rest *= adam->blocks / layout.consumers;
    adam->blocks = layout.consumers;
    return n;
}

int dg_launch_parts(const dg_plan *p, const dg_launch *l, dg_cost_part *out)
{
    switch (l->kind) {
    case DG_LAUNCH_CONV: return conv_parts(p, l, out);
    case DG_LAUNCH_HEAD: return head_parts(p, l, out);
    case DG_LAUNCH_UPDATE:
    case DG_LAUNCH_GRADIENTS: return update_parts(p, l, out);
    case DG_LAUNCH_OP: break;
    }
    return 0;
}
