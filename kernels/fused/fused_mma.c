/* Limits, grid and scratch size of fused convolutions on tensor cores (kernels: fused_mma.cuh). */
#include <stddef.h>

#include "kernels/fused/fuse_launch.h"
#include "kernels/ops/conv/cuda/conv_rows.h"

/* bytes of static shared memory, for the flag of dg_comes_last() */
enum { FIXED_SHARED = 16 };

dg_fused_mma_grid dg_fused_mma_grid_of(dg_op_kind kind, const dg_fused_conv *f, const dg_tune *tune)
{
    const dg_conv_args *a = &f->conv;
    const bool dx = kind == DG_OP_conv_dx, small = dg_mma_is_small(a);
    /* with bf16 arithmetic and fp32 tensors, one kernel runs all prologues (conv_mma.cuh) */
    const bool both = f->in.kind == DG_PROLOGUE_NORM_DX || (tune->math == DG_MATH_BF16 && !f->in.rounded);
    const bool sums = f->out.kind == DG_EPILOGUE_STATS || f->out.kind == DG_EPILOGUE_NORM_DX;
    const int side = small ? 4 : 8, rows = dx ? dg_ceil_div(a->H, 2) : a->Ho, cols = dx ? dg_ceil_div(a->W, 2) : a->Wo;
    const int C = dx ? a->Ci : a->Co, summed = dx ? a->Co : a->Ci, chunk = DG_MMA_CHUNK;
    const int results = tune->tile_m * tune->tile_n * (dx ? 4 : 1);
    dg_fused_mma_grid g = {.groups = f->in.groups > f->out.groups ? f->in.groups : f->out.groups};
    g.per_group = dg_ceil_div(a->N / g.groups * dg_ceil_div(rows, side) * dg_ceil_div(cols, side),
                              tune->tile_m / (side * side));
    g.blocks = g.per_group * g.groups;
    g.columns = dg_ceil_div(C, tune->tile_n);
    g.channels = dg_ceil_div(summed / chunk, tune->split) * chunk;
    const dg_mma_tile tile = dg_mma_tile_of(kind, a, tune);
    const int stages = tune->math == DG_MATH_FP16 ? 2 : tile.stages;
    const int factors = tile.factors + (stages - 2) * tile.portion, sums_bytes = results * (int)sizeof(float);
    const bool cluster = tile.factors && tune->split > 1; /* a cluster exchanges sums in the operands' shared memory */
    g.shared = (size_t)(tile.bytes + (stages - 2) * tile.portion) + (size_t)g.channels * (both ? 3 : 2) * sizeof(float);
    if (cluster && sums_bytes > factors) g.shared += (size_t)(sums_bytes - factors);
    g.cluster = cluster ? tune->split : 1;
    g.joined = sums_bytes - sums_bytes / g.cluster;
    g.merged = g.blocks / f->out.groups * g.cluster;
    g.sum_bytes = sums ? dg_epilogue_bytes(g.merged, f->out.groups, g.columns, tune->tile_n, C) : 0;
    g.sum_counters = sums ? g.columns * dg_epilogue_counters(g.merged, f->out.groups, tune->tile_n) : 0;
    const bool parts = tune->split > 1 && !cluster;
    g.part_bytes = parts ? (size_t)g.blocks * (size_t)g.columns * (size_t)tune->split * (size_t)results * sizeof(float)
                         : 0;
    g.part_counters = parts ? g.blocks * g.columns : 0;
    return g;
}

const char *dg_fused_mma_refuses(dg_op_kind kind, const dg_fused_conv *f, const dg_tune *tune, const dg_gpu *gpu)
{
    const int from = f->in.groups, to = f->out.groups, N = f->conv.N;
    if (kind != DG_OP_conv_fwd && kind != DG_OP_conv_dx) return "a weight gradient is fused only with Adam";
    if (f->gather.N || f->noise.n) return "variant mma reads tensors only: neither images nor noise";
    if (from < 1 || to < 1 || N % from || N % to) return "groups must be equal parts of the batch";
    if (from > 1 && to > 1 && from != to) return "prologue and epilogue must have the same groups";
    if (f->out.kind == DG_EPILOGUE_ACT || (f->out.kind == DG_EPILOGUE_ACT_DX && !dg_act_is_linear(f->out.act)))
        return "variant mma does not support this activation in its epilogue";
    if (dg_fused_refuses_math(tune->math, gpu)) return dg_fused_refuses_math(tune->math, gpu);
    const dg_fused_mma_grid g = dg_fused_mma_grid_of(kind, f, tune);
    if (g.shared + FIXED_SHARED > gpu->shared)
        return dg_variant_no("a tile of %dx%d with %d channels needs %zu bytes of shared memory (limit %zu)",
                             tune->tile_m, tune->tile_n, g.channels, g.shared + FIXED_SHARED, gpu->shared);
    return NULL;
}

dg_fused_size dg_fused_mma_size(dg_op_kind kind, const dg_fused_conv *f, const dg_tune *tune)
{
    const dg_fused_mma_grid g = dg_fused_mma_grid_of(kind, f, tune);
    return (dg_fused_size){g.sum_bytes + g.part_bytes, g.sum_counters + g.part_counters};
}
