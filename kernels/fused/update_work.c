/* Computes tiles, work units, parts and rounding of one job (weight gradient) of a fused update. */
#include <string.h>

#include "core/base/math.h"
#include "kernels/fused/fused_update.h"
#include "kernels/ops/conv/cuda/conv_rows.h"

dg_math dg_update_math(const dg_fused_update *u)
{
    for (int i = 0; i < u->jobs; i++)
        if (dg_update_rounds(u->job[i].kind)) return u->job[i].tune.math;
    return DG_MATH_FP32;
}

bool dg_update_by_warpgroups(const dg_fused_update *u)
{
    for (int i = 0; i < u->jobs; i++)
        if (u->job[i].kind == DG_FUSED_WGMMA) return true;
    return false;
}

dg_update_work dg_update_work_of(const dg_update_job *j)
{
    const dg_conv_args *a = &j->conv, flat = dg_conv_flat(a);
    const int side = dg_mma_is_small(a) ? 4 : 8;
    dg_update_work w;
    memset(&w, 0, sizeof w);
    w.conv = *a;
    w.x = j->x;
    w.y = j->y;
    w.kind = (int)j->kind;
    w.channels = dg_conv_channels(a);
    w.groups = dg_max(j->x.kind == DG_PROLOGUE_PLAIN ? 1 : j->x.groups,
                      j->y.kind == DG_PROLOGUE_PLAIN ? 1 : j->y.groups);
    w.per_group = a->N / w.groups;
    w.offset = j->offset;
    w.count = (int64_t)a->Co * a->K * a->K * a->Ci;
    w.parts = 1;
    switch (j->kind) {
    case DG_FUSED_MMA:
    case DG_FUSED_WGMMA:
        w.rows = dg_ceil_div(a->Co, 64);
        w.cols = dg_ceil_div(a->Ci, 16);
        w.units = dg_ceil_div(a->N * dg_ceil_div(a->Ho, side) * dg_ceil_div(a->Wo, side), dg_mma_is_small(a) ? 4 : 1);
        w.parts = dg_min(dg_min(dg_max(j->tune.split, 1), w.units), DG_UPDATE_PARTS);
        break;
    case DG_FUSED_THIN:
    case DG_FUSED_THIN_MMA:
        w.rows = dg_ceil_div(a->Co, DG_THIN_TILE_CHANNELS);
        w.cols = 1;
        w.units = a->N * dg_ceil_div(a->Ho, DG_THIN_TILE_ROWS) * dg_ceil_div(a->Wo, DG_THIN_TILE_COLS);
        w.parts = dg_min(dg_min(dg_max(j->tune.split, 1), w.units), DG_UPDATE_PARTS);
        break;
    case DG_FUSED_GEMV:
        w.conv = flat;
        w.rows = flat.Co;
        w.cols = dg_ceil_div(flat.Ci, DG_UPDATE_GEMV_COLS);
        w.units = flat.N;
        break;
    case DG_FUSED_DENSE:
        w.conv = flat;
        w.rows = dg_ceil_div(flat.Co, DG_UPDATE_DENSE_ROWS);
        w.cols = dg_ceil_div(flat.Ci, DG_UPDATE_DENSE_COLS);
        w.units = dg_ceil_div(flat.N, DG_UPDATE_DENSE_IMAGES);
        break;
    case DG_FUSED_NONE: break;
    }
    w.conv.scratch = NULL;
    w.producers = w.rows * w.cols * w.parts;
    return w;
}
