/* Convolutions on tensor cores: which shapes, tiles and precisions there are, and which tile a shape gets. */
#include "core/tune/variants.h"

#include <math.h>
#include <string.h>

#include "core/tune/conv_tiles.h"
#include "core/plan/precision.h"
#include "core/tune/work.h"

typedef dg_mma_tile tile;

static bool by_warpgroups(const dg_tune *t) { return strcmp(t->variant, "wgmma") == 0; }

/* The tiles of a direction, the number returned. */
static int tiles_of(dg_op_kind kind, bool small, const dg_tune *t, tile *out)
{
    const bool wide = by_warpgroups(t);
    int n = 0;
    if (kind == DG_OP_conv_fwd && wide) {
#define X(M, N, GROUPS) out[n++] = (tile){M, N, M * 2, DG_WGMMA_FWD_BYTES(small, M, N, GROUPS)};
        DG_WGMMA_FWD_TILES(X)
#undef X
    } else if (kind == DG_OP_conv_fwd && t->math == DG_MATH_FP16) {
#define X(SMALL, M, N, WN, GROUPS)                      \
    if (small == SMALL)                                 \
        out[n++] = (tile){M, N, M / 64 * (N / WN) * 32, \
                          DG_MMA_BYTES(SMALL, M / 64, 1, N, GROUPS, M / 64 * (N / WN) * 32)};
        DG_FP16_FWD_TILES(X)
#undef X
    } else if (kind == DG_OP_conv_fwd) {
#define X(M, N, WN, GROUPS) \
    out[n++] = (tile){M, N, M / 64 * (N / WN) * 32, DG_MMA_BYTES(small, M / 64, 1, N, GROUPS, M / 64 * (N / WN) * 32)};
        if (t->math == DG_MATH_TF32) {
            DG_TF32_FWD_TILES(X)
        } else {
            DG_MMA_FWD_TILES(X)
        }
#undef X
    } else if (kind == DG_OP_conv_dx && wide) {
#define X(M, N, GROUPS) out[n++] = (tile){M, N, M * 8, DG_WGMMA_DX_BYTES(small, M, N, GROUPS)};
        DG_WGMMA_DX_TILES(X)
#undef X
    } else if (kind == DG_OP_conv_dx) {
#define X(M, N, WN, GROUPS) \
    out[n++] = (tile){M, N, M / 16 * (N / WN) * 32, DG_MMA_BYTES(small, M / 64, 0, N, GROUPS, M / 16 * (N / WN) * 32)};
        if (t->math == DG_MATH_TF32) {
            DG_TF32_DX_TILES(X)
        } else {
            DG_MMA_DX_TILES(X)
        }
#undef X
    } else {
#define X(M, N) out[n++] = (tile){M, N, 256, DG_MMA_DW_BYTES(small, dg_math_unit(t->math))};
        DG_MMA_DW_TILES(X)
#undef X
    }
    return n;
}

enum { MOST_TILES = 8 };

static bool is_small(const dg_conv_args *a) { return a->Wo <= DG_MMA_SMALL; }

static int div_up(int a, int b) { return (a + b - 1) / b; }

dg_mma_tile dg_mma_tile_of(dg_op_kind kind, const dg_conv_args *a, const dg_tune *t)
{
    tile all[MOST_TILES];
    const int n = tiles_of(kind, is_small(a), t, all);
    for (int i = 0; i < n; i++)
        if (all[i].m == t->tile_m && all[i].n == t->tile_n) return all[i];
    return (tile){0};
}

/* Steps of the sum: chunks of channels, or pieces of 64 positions. */
static int steps_of(dg_op_kind kind, const dg_conv_args *a, dg_math math)
{
    const int chunk = 2 * dg_math_unit(math), side = is_small(a) ? 4 : 8;
    if (kind == DG_OP_conv_dw) return div_up(a->N * div_up(a->Ho, side) * div_up(a->Wo, side), is_small(a) ? 4 : 1);
    return (kind == DG_OP_conv_fwd ? a->Ci : a->Co) / chunk;
}

const char *dg_variant_refuses_math(const dg_gpu *gpu)
{
    if (dg_math_on(gpu->math, gpu->arch)) return NULL;
    return dg_variant_no(
        "--precision %s: the tensor cores of sm_%d have neither bf16 nor tf32, those of sm_80 and newer have; "
        "--precision fp32 runs here%s",
        dg_precision_name(DG_F32, gpu->math), gpu->arch, dg_math_on(DG_MATH_FP16, gpu->arch) ? ", and fp16" : "");
}

const char *dg_fused_refuses_math(dg_math math, const dg_gpu *gpu)
{
    return math == DG_MATH_FP16 && gpu->arch >= 80 ? "from sm_80 on bf16 is as quick: fp16 has no fused kernels there"
                                                   : NULL;
}

/* Into how many parts the sum is cut: one, where nothing is said, and most at most. */
static const char *settle_split(dg_tune *t, int most)
{
    if (!t->split) t->split = 1;
    return t->split < 1 || t->split > most || t->split > 65535
               ? dg_variant_no("split=%d: must be from 1 to %d", t->split, most)
               : NULL;
}

const char *dg_variant_check_mma(dg_op_kind kind, const dg_conv_args *a, dg_tune *t, const dg_gpu *gpu)
{
    tile all[MOST_TILES];
    if (by_warpgroups(t)) {
        if (gpu->math != DG_MATH_BF16)
            return dg_variant_no("wgmma rounds its factors to bf16: it is for --precision bf16");
        if (gpu->arch != 90) return dg_variant_no("wgmma is for sm_90 alone, not for sm_%d", gpu->arch);
    }
    if (gpu->math == DG_MATH_FP32)
        return dg_variant_no("mma rounds its factors: it is for --precision bf16, tf32 or fp16");
    if (gpu->arch && !dg_math_on(gpu->math, gpu->arch)) return dg_variant_refuses_math(gpu);
    const int unit = dg_math_unit(gpu->math), chunk = 2 * unit;
    const int summed = kind == DG_OP_conv_fwd ? a->Ci : kind == DG_OP_conv_dx ? a->Co : chunk;
    if (a->K != 4 || a->S != 2 || a->P != 1) return dg_variant_no("%s is for K=4 S=2 P=1", t->variant);
    if (summed % chunk)
        return dg_variant_no("%s adds up channels in multiples of %d, not %d", t->variant, chunk, summed);
    if (a->Ci % unit || a->Co % unit)
        return dg_variant_no("%s needs channels in multiples of %d, not %d", t->variant, unit,
                             a->Ci % unit ? a->Ci : a->Co);
    t->math = gpu->math;
    const int n = tiles_of(kind, is_small(a), t, all);
    const tile *mine = t->tile_m ? NULL : all;
    for (int i = 0; i < n && !mine; i++)
        if (all[i].m == t->tile_m && all[i].n == t->tile_n) mine = &all[i];
    if (!mine) return dg_variant_no("tile=%dx%d: %s is not compiled for it", t->tile_m, t->tile_n, t->variant);
    t->tile_m = mine->m;
    t->tile_n = mine->n;
    if (t->block && t->block != mine->threads)
        return dg_variant_no("block=%d: a tile of %dx%d has %d threads", t->block, mine->m, mine->n, mine->threads);
    t->block = mine->threads;
    if (t->stages) return dg_variant_no("%s has no stages to choose", t->variant);
    if ((size_t)mine->bytes > gpu->shared)
        return dg_variant_no("a tile of %dx%d needs %d bytes of shared memory, a block here has at most %zu", mine->m,
                             mine->n, mine->bytes, gpu->shared);
    const int most = steps_of(kind, a, t->math);
    return settle_split(t, most);
}

const char *dg_variant_check_thin_mma(dg_op_kind kind, const dg_conv_args *a, int most, dg_tune *t, const dg_gpu *gpu)
{
    const bool dx = kind == DG_OP_conv_dx;
    if (gpu->math != DG_MATH_BF16 && gpu->math != DG_MATH_TF32)
        return dg_variant_no("thin_mma rounds its factors: it is for --precision bf16 or tf32");
    if (gpu->arch && !dg_math_on(gpu->math, gpu->arch)) return dg_variant_refuses_math(gpu);
    if (a->K != 4 || a->S != 2 || a->P != 1) return dg_variant_no("thin_mma is for K=4 S=2 P=1");
    if (a->Ci != 1 && a->Ci != 3) return dg_variant_no("thin_mma is for 1 or 3 channels of x, not %d", a->Ci);
    if (a->Co % 4) return dg_variant_no("thin_mma needs channels in multiples of 4, not %d", a->Co);
    if (t->tile_m || t->stages) return dg_variant_no("thin_mma has a tile of its own and no stages");
    const int threads = kind == DG_OP_conv_fwd ? DG_THIN_TILE_ROWS * 32 : 256;
    if (t->block && t->block != threads) return dg_variant_no("block=%d: thin_mma has %d threads", t->block, threads);
    const size_t bytes = dx ? (size_t)DG_THIN_MMA_BYTES(a->Ci, a->Co, dg_math_unit(gpu->math)) : 0;
    if (bytes > gpu->shared)
        return dg_variant_no("thin_mma needs %zu bytes of shared memory for %d channels, a block here has at most %zu",
                             bytes, a->Co, gpu->shared);
    t->math = gpu->math;
    t->block = threads;
    return settle_split(t, most);
}

/* About how long it would take on an H100, in us, as core/tune/predict_gpu.c has it: products of the busiest
 * multiprocessor, or what all blocks load through the L2 cache, and the sum of the parts. Always that GPU, so that sums
 * have the same order on every one; others have more or fewer multiprocessors, but much the same bytes a product. */
static double cost(const dg_op *op)
{
    enum { UNITS = 132, MOST_WARPS = 8 /* as many registers as there are */ };
    /* operations, bytes a ns */
    const double rate = (op->tune.math == DG_MATH_TF32 ? 156e3 : 311e3) / UNITS, cache = 6.2e3;
    const dg_work w = dg_work_of(op, DG_F32);
    const double rounds = ceil(w.blocks / UNITS), warps = fmin(rounds * w.threads / 32, MOST_WARPS);
    const double products = rounds * 2 * w.products / rate * (warps + 2) / warps, loads = w.blocks * w.loads / cache;
    return fmax(products, loads) * 1e-3 + (op->tune.split > 1 ? 1.2 + w.moved / cache * 1e-3 : 0);
}

void dg_variant_choose_mma(const dg_op *op, dg_tune *t, const dg_gpu *gpu)
{
    const dg_conv_args *a = &op->u.conv;
    tile all[MOST_TILES];
    t->math = gpu->math;
    const int n = tiles_of(op->kind, is_small(a), t, all), most = steps_of(op->kind, a, gpu->math);
    double least = INFINITY;
    for (int i = 0; i < n; i++)
        for (int split = 1; split <= most && split <= 256; split *= 2) {
            dg_op tried = *op;
            tried.tune =
                (dg_tune){.variant = t->variant, .why = t->why, .tile_m = all[i].m, .tile_n = all[i].n, .split = split};
            if (dg_variant_check_mma(op->kind, a, &tried.tune, gpu)) continue;
            const double us = cost(&tried);
            if (us >= least) continue;
            least = us;
            *t = tried.tune;
        }
}
