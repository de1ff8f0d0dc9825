/* Variant mma_odd, 3x3 and 1x1 convolutions on tensor cores: supported shapes and their cost. */
#include "kernels/ops/conv/cuda/conv_rows.h"

#include <math.h>

#include "core/tune/predict.h"

#define no dg_variant_no

/* True for 3x3 convolutions with stride 2, which run as 4x4 convolutions of variant mma or wgmma. */
static bool by_halving(const dg_conv_args *a) { return a->K == 3 && a->S == 2; }
static dg_op halving(const dg_op *op)
{
    dg_op h = *op;
    h.u.conv.K = 4;
    h.tune.variant = dg_odd_by_warpgroups(op->kind, &op->tune) ? &dg_conv_variant_wgmma : &dg_conv_variant_mma;
    return h;
}
static bool may_be_by_warpgroups(dg_op_kind kind, const dg_gpu *gpu)
{
    return kind != DG_OP_conv_dw && gpu->math == DG_MATH_BF16 && gpu->wgmma;
}

static const char *check_halving(const dg_op *op, dg_tune *t, dg_type real, const dg_gpu *gpu)
{
    const bool wide = may_be_by_warpgroups(op->kind, gpu);
    dg_op h = *op;
    dg_tune as = *t;
    h.u.conv.K = 4;
    as.variant = wide ? &dg_conv_variant_wgmma : &dg_conv_variant_mma;
    if (wide && !as.tile_m) {
        as.tile_m = DG_ODD_WIDE_M(op->kind == DG_OP_conv_dx);
        as.tile_n = DG_ODD_WIDE_N(op->kind == DG_OP_conv_dx);
    }
    const char *why = as.variant->check(&h, &as, real, gpu);
    as.variant = t->variant;
    *t = as;
    return why || !wide || dg_odd_by_warpgroups(op->kind, t) ? why : dg_conv_check_tile(t, 0);
}

static int summed(dg_op_kind kind, const dg_conv_args *a) { return kind == DG_OP_conv_dx ? a->Co : a->Ci; }

/* Returns the number of pieces, of `positions` positions each, that cover y. If K = 3, pieces consist of whole cells of
 * 4x4 positions. */
static int64_t pieces(const dg_conv_args *a, int positions)
{
    const int64_t cells = (int64_t)a->N * dg_ceil_div(a->Ho, 4) * dg_ceil_div(a->Wo, 4),
                  all = a->K == 3 ? cells * 16 : (int64_t)a->N * a->Ho * a->Wo;
    return (all + positions - 1) / positions;
}

/* Returns the number of steps: one per piece (weight gradient), or one per chunk of channels. */
static int steps_of(dg_op_kind kind, const dg_conv_args *a)
{
    return kind == DG_OP_conv_dw ? (int)pieces(a, DG_ODD_PIECE) : summed(kind, a) / DG_MMA_CHUNK;
}

static const char *check_shape(dg_op_kind kind, const dg_conv_args *a)
{
    const int sum = kind == DG_OP_conv_dw ? DG_MMA_CHUNK : summed(kind, a);
    if (a->pixels) return no("variant mma_odd is not used for a kernel that covers all of x");
    if (!(a->K == 3 && a->S == 1 && a->P == 1) && !(a->K == 1 && a->P == 0))
        return no("variant mma_odd requires K=3 S=1 or 2 P=1, or K=1 P=0");
    if (sum % DG_MMA_CHUNK) return no("variant mma_odd sums over a multiple of %d channels, not %d", DG_MMA_CHUNK, sum);
    if (a->Ci % DG_MMA_UNIT || a->Co % DG_MMA_UNIT)
        return no("variant mma_odd needs channels in multiples of %d, not %d", DG_MMA_UNIT,
                  a->Ci % DG_MMA_UNIT ? a->Ci : a->Co);
    return NULL;
}

static int bytes_of(dg_op_kind kind, const dg_conv_args *a)
{
    return kind == DG_OP_conv_dw ? DG_ODD_DW_BYTES(a->K) : DG_ODD_BYTES(a->K);
}

static const char *check(const dg_op *op, dg_tune *t, dg_type real, const dg_gpu *gpu)
{
    const dg_conv_args *a = &op->u.conv;
    const bool dw = op->kind == DG_OP_conv_dw;
    const char *why = dg_conv_check_rounded(op, t, real, gpu);
    if (why) return why;
    if (by_halving(a) && a->P == 1) return check_halving(op, t, real, gpu);
    t->math = gpu->math;
    why = check_shape(op->kind, a);
    if (why) return why;
    const int m = DG_ODD_M(a->K, dw), n = DG_ODD_N(a->K, dw);
    const bool mine = !t->tile_m || (t->tile_m == m && t->tile_n == n);
    if (mine) {
        t->tile_m = m;
        t->tile_n = n;
    }
    why = dg_conv_check_tile(t, mine ? DG_ODD_THREADS(a->K, dw) : 0);
    if (why) return why;
    if (t->stages) return no("variant mma_odd has a fixed number of stages");
    if ((size_t)bytes_of(op->kind, a) > gpu->shared)
        return no("variant mma_odd needs %d bytes of shared memory (limit %zu)", bytes_of(op->kind, a), gpu->shared);
    return dg_conv_check_split(t, steps_of(op->kind, a), 1);
}

static void choose(const dg_op *op, dg_tune *t, const dg_gpu *gpu)
{
    double least = INFINITY;
    if (by_halving(&op->u.conv) && !may_be_by_warpgroups(op->kind, gpu)) {
        const dg_op h = halving(op);
        t->variant = &dg_conv_variant_mma;
        dg_conv_variant_mma.choose(&h, t, gpu);
        t->variant = &dg_conv_variant_mma_odd;
        return;
    }
    for (int split = 1; split <= 256; split *= 2) {
        dg_op tried = *op;
        tried.tune = (dg_tune){.variant = t->variant, .why = t->why, .split = split};
        if (check(op, &tried.tune, DG_F32, gpu)) break;
        const double us = dg_rule_us(&tried);
        if (us >= least) continue;
        least = us;
        *t = tried.tune;
    }
}

static void work(const dg_op *op, dg_work *w)
{
    const dg_conv_args *a = &op->u.conv;
    const bool dx = op->kind == DG_OP_conv_dx, dw = op->kind == DG_OP_conv_dw;
    if (by_halving(a)) {
        const dg_op h = halving(op);
        const double weights = 4.0 * a->Co * a->Ci;
        h.tune.variant->work(&h, w);
        /* an additional kernel widens weights to 4x4 taps or narrows their gradient to 3x3 taps */
        if (!dw || w->split == 1) w->kernels++;
        /* Widening reads 9 taps and writes 16. A part of a gradient has 16 taps, of which dg_conv_work() counts 9. */
        w->moved += weights * (dw && w->split > 1 ? w->split * 2 * (16 - 9) : 16 + 9);
        return;
    }
    const double m = op->tune.tile_m, n = op->tune.tile_n, taps = a->K * a->K, border = a->K == 3 ? 144 / 64.0 : 1;
    w->shared = bytes_of(op->kind, a);
    if (dw) {
        const double each = dg_ceil_divf((double)pieces(a, DG_ODD_PIECE), w->split) * DG_ODD_PIECE;
        w->blocks = dg_ceil_divf(a->Co, m) * dg_ceil_divf(a->Ci, n) * w->split;
        w->products = each * m * n * taps;
        w->loads = 4 * each * (m + border * n);
        w->outputs = m * n * taps / w->threads;
        return;
    }
    const int chunks = summed(op->kind, a) / DG_MMA_CHUNK;
    const double share = dg_ceil_divf(chunks, w->split) * DG_MMA_CHUNK;
    w->blocks = (double)pieces(a, DG_ODD_M(a->K, 0)) * dg_ceil_divf(dx ? a->Ci : a->Co, n) * w->split;
    w->products = m * n * taps * share;
    w->loads = 4 * share * (border * m + taps * n);
    w->outputs = m * n / w->threads;
}

static size_t scratch(const dg_op *op, dg_type real)
{
    const dg_conv_args *a = &op->u.conv;
    const size_t weights = 16 * (size_t)a->Co * (size_t)a->Ci * dg_type_bytes(real);
    if (!by_halving(a)) return dg_conv_scratch(op, real);
    if (op->kind == DG_OP_conv_dw) return weights * (size_t)(op->tune.split > 1 ? op->tune.split : 1);
    return weights + dg_conv_scratch(op, real);
}

const dg_variant dg_conv_variant_mma_odd = {
    .name = "mma_odd", .check = check, .choose = choose, .work = work, .scratch = scratch};
