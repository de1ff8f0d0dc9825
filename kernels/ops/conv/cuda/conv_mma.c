/* Variants mma and wgmma, convolutions on tensor cores: supported shapes and precisions, and the choice of a tile. */
#include "kernels/ops/conv/cuda/conv_rows.h"

#include <math.h>

#include "core/tune/predict.h"

#define no dg_variant_no

typedef dg_mma_tile tile;

static bool by_warpgroups(const dg_tune *t) { return t->variant == &dg_conv_variant_wgmma; }

typedef struct {
    bool small;
    int m, n, wn, groups;
} tile_row;

#define X(...) {__VA_ARGS__},
static const tile_row fwd_bf16[] = {DG_MMA_FWD_TILES(X)}, fwd_fp16[] = {DG_FP16_FWD_TILES(X)},
                      fwd_wide[] = {DG_WGMMA_FWD_TILES(X)}, dx_warps[] = {DG_MMA_DX_TILES(X)},
                      dx_wide[] = {DG_WGMMA_DX_TILES(X)};
#undef X
#define ROWS(array) array, sizeof array / sizeof *array

static tile tile_of(const tile_row *r, bool dx, bool wide)
{
    const int pitch = !wide ? r->n
                      : dx  ? r->n / 4 * 5
                            : r->n + 4,
              warps = dx || wide ? 4 : 1, threads = dx && wide ? 256 : r->m / 64 * (r->n / r->wn) * warps * 32;
    return (tile){r->m,
                  r->n,
                  threads,
                  DG_MMA_BYTES(r->small, r->m / 64, !dx, pitch, r->groups, threads),
                  DG_MMA_PORTION(pitch, r->groups),
                  DG_MMA_STAGES(true, false, wide ? DG_WGMMA_STAGES(r->small, !dx, r->m) : 2,
                                DG_MMA_PORTION(pitch, r->groups)),
                  wide ? DG_MMA_FACTORS(r->small, r->m / 64, !dx, pitch, r->groups) : 0};
}

static int tiles_of(dg_op_kind kind, bool small, const dg_tune *t, tile *out)
{
    static const struct {
        const tile_row *row;
        size_t rows;
    } lists[2][3] = {{{ROWS(fwd_bf16)}, {ROWS(fwd_fp16)}, {ROWS(fwd_wide)}},
                     {{ROWS(dx_warps)}, {ROWS(dx_warps)}, {ROWS(dx_wide)}}};
    const bool wide = by_warpgroups(t), dx = kind == DG_OP_conv_dx;
    int n = 0;
    if (kind == DG_OP_conv_dw) {
#define X(M, N) out[n++] = (tile){M, N, 256, DG_MMA_DW_BYTES(small), 0, 0, 0};
        DG_MMA_DW_TILES(X)
#undef X
        return n;
    }
    const int of = wide ? 2 : t->math == DG_MATH_FP16;
    for (size_t i = 0; i < lists[dx][of].rows; i++)
        if (lists[dx][of].row[i].small == small) out[n++] = tile_of(&lists[dx][of].row[i], dx, wide);
    return n;
}

enum { MOST_TILES = 8 };

/* Returns the tile in t, or the first one if t has no tile. An unknown tile has m = 0. */
dg_mma_tile dg_mma_tile_of(dg_op_kind kind, const dg_conv_args *a, const dg_tune *t)
{
    tile all[MOST_TILES];
    const int n = tiles_of(kind, dg_mma_is_small(a), t, all);
    for (int i = 0; i < n; i++)
        if (!t->tile_m || (all[i].m == t->tile_m && all[i].n == t->tile_n)) return all[i];
    return (tile){0};
}

/* Returns the number of steps: one per piece of 64 positions (weight gradient), or one per chunk of channels. */
static int steps_of(dg_op_kind kind, const dg_conv_args *a)
{
    const int side = dg_mma_is_small(a) ? 4 : 8;
    if (kind == DG_OP_conv_dw)
        return dg_ceil_div(a->N * dg_ceil_div(a->Ho, side) * dg_ceil_div(a->Wo, side), dg_mma_is_small(a) ? 4 : 1);
    return (kind == DG_OP_conv_fwd ? a->Ci : a->Co) / DG_MMA_CHUNK;
}

static const char *check_channels(dg_op_kind kind, const dg_conv_args *a, const dg_tune *t)
{
    const int summed = kind == DG_OP_conv_fwd ? a->Ci : kind == DG_OP_conv_dx ? a->Co : DG_MMA_CHUNK;
    if (!dg_conv_is_halving(a)) return no("variant %s requires K=4 S=2 P=1", t->variant->name);
    if (summed % DG_MMA_CHUNK)
        return no("variant %s sums over a multiple of %d channels, not %d", t->variant->name, DG_MMA_CHUNK, summed);
    if (a->Ci % DG_MMA_UNIT || a->Co % DG_MMA_UNIT)
        return no("variant %s needs channels in multiples of %d, not %d", t->variant->name, DG_MMA_UNIT,
                  a->Ci % DG_MMA_UNIT ? a->Ci : a->Co);
    return NULL;
}

static const char *check_tile(dg_op_kind kind, const dg_conv_args *a, dg_tune *t, const dg_gpu *gpu)
{
    const tile found = dg_mma_tile_of(kind, a, t), *mine = &found;
    if (!mine->m) return dg_conv_check_tile(t, 0);
    t->tile_m = mine->m;
    t->tile_n = mine->n;
    const char *why = dg_conv_check_tile(t, mine->threads);
    if (why) return why;
    if (t->stages) return no("variant %s has a fixed number of stages", t->variant->name);
    if ((size_t)mine->bytes > gpu->shared)
        return no("a tile of %dx%d needs %d bytes of shared memory (limit %zu)", mine->m, mine->n, mine->bytes,
                  gpu->shared);
    return NULL;
}

static const char *check(const dg_op *op, dg_tune *t, dg_type real, const dg_gpu *gpu)
{
    const dg_conv_args *a = &op->u.conv;
    const char *why = dg_conv_check(op, t, real);
    if (why) return why;
    if (gpu->math == DG_MATH_FP32)
        return no(DG_MSG("mma-in-fp32", "variant mma rounds its operands: requires precision bf16 or fp16"));
    why = dg_conv_check_math(gpu);
    if (why) return why;
    t->math = gpu->math;
    why = check_channels(op->kind, a, t);
    if (!why) why = check_tile(op->kind, a, t, gpu);
    const int steps = steps_of(op->kind, a);
    const bool few = by_warpgroups(t) && op->kind != DG_OP_conv_dw && steps > DG_WGMMA_PARTS;
    if (!why) why = dg_conv_check_split(t, few ? DG_WGMMA_PARTS : steps, 1);
    if (!why && op->kind != DG_OP_conv_dw && t->math == DG_MATH_BF16 && gpu->wgmma && !by_warpgroups(t))
        return no("variant mma has no bf16 kernels on sm_90: use wgmma");
    return why;
}

static const char *check_wgmma(const dg_op *op, dg_tune *t, dg_type real, const dg_gpu *gpu)
{
    const char *why = dg_conv_check(op, t, real);
    if (why) return why;
    if (gpu->math != DG_MATH_BF16) return no("variant wgmma rounds its operands to bf16: requires precision bf16");
    if (gpu->arch != 90) return no("variant wgmma requires sm_90, not sm_%d", gpu->arch);
    return check(op, t, real, gpu);
}

static void choose(const dg_op *op, dg_tune *t, const dg_gpu *gpu)
{
    const dg_conv_args *a = &op->u.conv;
    tile all[MOST_TILES];
    t->math = gpu->math;
    const int n = tiles_of(op->kind, dg_mma_is_small(a), t, all), most = steps_of(op->kind, a);
    double least = INFINITY;
    for (int i = 0; i < n; i++)
        for (int split = 1; split <= most && split <= 256; split *= 2) {
            dg_op tried = *op;
            tried.tune =
                (dg_tune){.variant = t->variant, .why = t->why, .tile_m = all[i].m, .tile_n = all[i].n, .split = split};
            if (check(op, &tried.tune, DG_F32, gpu)) continue;
            const double us = dg_rule_us(&tried);
            if (us >= least) continue;
            least = us;
            *t = tried.tune;
        }
}

static void work(const dg_op *op, dg_work *w)
{
    const dg_conv_args *a = &op->u.conv;
    const bool dx = op->kind == DG_OP_conv_dx, dw = op->kind == DG_OP_conv_dw, small = dg_mma_is_small(a);
    const double side = small ? 4 : 8, m = op->tune.tile_m, n = op->tune.tile_n;
    const double cells = a->N * dg_ceil_divf(dx ? dg_ceil_divf(a->H, 2) : a->Ho, side) *
                         dg_ceil_divf(dx ? dg_ceil_divf(a->W, 2) : a->Wo, side),
                 cell = side * side;
    w->shared = dg_mma_tile_of(op->kind, a, &op->tune).bytes;
    w->warpgroups = by_warpgroups(&op->tune);
    if (dw) {
        const double pieces = dg_ceil_divf(dg_ceil_divf(cells, 64 / cell), w->split);
        w->blocks = dg_ceil_divf(a->Co, m) * dg_ceil_divf(a->Ci, n) * w->split;
        w->products = pieces * 64 * m * n * 16;
        w->loads = 4 * pieces * (64 * m + DG_MMA_VALUES(small, 1, 1) * n);
        w->outputs = m * n * 16 / w->threads;
        return;
    }
    const double share = dg_ceil_divf(dg_ceil_divf(dx ? a->Co : a->Ci, DG_MMA_CHUNK), w->split) * DG_MMA_CHUNK;
    w->blocks = dg_ceil_divf(cells, m / cell) * dg_ceil_divf(dx ? a->Ci : a->Co, n) * w->split;
    w->products = m * n * 16 * share;
    w->loads = 4 * share * (m / 64 * DG_MMA_VALUES(small, 1, !dx) + 16 * n);
    w->outputs = w->warpgroups ? n / 2 : m * n * (dx ? 4 : 1) / w->threads;
}

const dg_variant dg_conv_variant_mma = {
    .name = "mma", .check = check, .choose = choose, .work = work, .fused = DG_FUSED_MMA};
const dg_variant dg_conv_variant_wgmma = {
    .name = "wgmma", .check = check_wgmma, .choose = choose, .work = work, .fused = DG_FUSED_WGMMA};
