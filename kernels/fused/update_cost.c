/* Describes the blocks of a fused update for the cost model. */
#include <stdio.h>

#include "core/base/math.h"
#include "core/plan/precision.h"
#include "core/tune/cost.h"
#include "kernels/fused/fused_update.h"
#include "kernels/ops/conv/cuda/conv_rows.h"

const char *dg_prologue_name(const dg_prologue *s)
{
    static const char *const name[] = {
        [DG_PROLOGUE_PLAIN] = "plain", [DG_PROLOGUE_NORM] = "norm", [DG_PROLOGUE_NORM_DX] = "norm_dx"};
    return name[s->kind];
}

static void update_kind(const dg_update_work *w, dg_math math, char *out, size_t size)
{
    const bool small = dg_mma_is_small(&w->conv);
    switch ((dg_fused_family)w->kind) {
    case DG_FUSED_MMA:
    case DG_FUSED_WGMMA:
        snprintf(out, size, "dw %s_%s 64x16%s", w->kind == DG_FUSED_MMA ? "mma" : "wgmma",
                 dg_precision_name(DG_F32, math), small ? " small" : "");
        break;
    case DG_FUSED_THIN:
    case DG_FUSED_THIN_MMA:
        snprintf(out, size, "dw %s_%s %d %s", w->kind == DG_FUSED_THIN ? "thin" : "thin_mma",
                 dg_precision_name(DG_F32, w->kind == DG_FUSED_THIN ? DG_MATH_FP32 : math), w->conv.Ci,
                 dg_prologue_name(&w->y));
        break;
    case DG_FUSED_GEMV: snprintf(out, size, "dw gemv_fp32 %d %s", DG_UPDATE_GEMV_COLS, dg_prologue_name(&w->x)); break;
    case DG_FUSED_DENSE:
        snprintf(out, size, "dw dense_fp32 %dx%d %s", DG_UPDATE_DENSE_ROWS, DG_UPDATE_DENSE_COLS,
                 dg_prologue_name(&w->x));
        break;
    case DG_FUSED_NONE: break;
    }
}

void dg_update_part(const dg_update_work *w, dg_math math, dg_cost_part *out)
{
    *out = (dg_cost_part){.blocks = w->producers,
                          .steps = (double)w->units / w->parts,
                          .most = dg_ceil_div(w->units, w->parts)};
    update_kind(w, math, out->kind, sizeof out->kind);
}

static void add_consumers(dg_cost_part *c, double weights, int parts)
{
    const int slots = 1 << dg_update_halvings(parts);
    const double share = weights / DG_UPDATE_THREADS / 8;
    c->blocks += dg_ceil_divf(share * slots, 1);
    c->rest += share;
    c->steps += parts * share;
    if (parts > c->most * slots) c->most = (double)parts / slots;
}

void dg_update_adam_part(const dg_update_work *work, int jobs, int64_t n, dg_math math, dg_cost_part *out)
{
    double others = (double)n;
    *out = (dg_cost_part){.kernel = 1};
    snprintf(out->kind, sizeof out->kind, "adam fp32 8 %s", dg_precision_name(DG_F32, math));
    for (int i = 0; i < jobs; i++) {
        add_consumers(out, (double)work[i].count, work[i].parts);
        others -= (double)work[i].count;
    }
    if (others > 0) add_consumers(out, others, 1);
    out->steps /= out->blocks;
    out->rest /= out->blocks;
}
