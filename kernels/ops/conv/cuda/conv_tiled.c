/* Variant tiled of the convolutions: any kernel size K, stride S and padding P. */
#include "kernels/ops/conv/cuda/conv_rows.h"

#define no dg_variant_no

static int threads_of(dg_op_kind kind, int m, int n)
{
#define X(BM, BN, TM, TN) \
    if (m == BM && n == BN) return BM / TM * (BN / TN);
    DG_TILED_SQUARE(X)
    if (kind != DG_OP_conv_dw) { DG_TILED_OBLONG(X) }
#undef X
    return 0;
}

static int words_of(dg_op_kind kind, const dg_tune *t)
{
    return DG_TILED_WORDS(t->tile_m, t->tile_n, kind != DG_OP_conv_dw, kind == DG_OP_conv_fwd);
}

static int most_parts(dg_op_kind kind, const dg_conv_args *a)
{
    if (kind == DG_OP_conv_dw) return a->N;
    const int taps = kind == DG_OP_conv_fwd ? a->K * a->K : dg_ceil_div(a->K, a->S) * dg_ceil_div(a->K, a->S);
    return taps * dg_ceil_div(kind == DG_OP_conv_fwd ? a->Ci : a->Co, DG_TILED_K);
}

static const char *check(const dg_op *op, dg_tune *t, dg_type real, const dg_gpu *gpu)
{
    const dg_conv_args a = dg_conv_flat(&op->u.conv);
    const char *why = dg_conv_check(op, t, real);
    if (why) return why;
    if (a.Ci % 4 || a.Co % 4)
        return no("variant tiled needs channels in multiples of 4, not %d", a.Ci % 4 ? a.Ci : a.Co);
    if (!t->tile_m) t->tile_m = t->tile_n = 64;
    why = dg_conv_check_tile(t, threads_of(op->kind, t->tile_m, t->tile_n));
    if (!why) why = dg_conv_check_stages(t, 3, words_of(op->kind, t), gpu);
    return why ? why : dg_conv_check_split(t, most_parts(op->kind, &a), op->kind == DG_OP_conv_dx ? a.S * a.S : 1);
}

/* Returns the number of parts of a sum of `steps` steps. The aim is 256 blocks in total, with at least `least` steps
 * per part. */
static int split_of(int blocks, int steps, int least)
{
    int split = 1;
    while (blocks * split < 256 && steps / (split * 2) >= least) split *= 2;
    return split;
}

static void choose(const dg_op *op, dg_tune *t, const dg_gpu *gpu)
{
    (void)gpu;
    const dg_op_kind kind = op->kind;
    const dg_conv_args flat = dg_conv_flat(&op->u.conv), *a = &flat;
    const int phases = kind == DG_OP_conv_dx ? a->S * a->S : 1,
              taps = dg_ceil_div(a->K, a->S) * dg_ceil_div(a->K, a->S);
    int m = a->N * a->Ho * a->Wo, n = a->Co, steps = a->K * a->K * dg_ceil_div(a->Ci, DG_TILED_K);
    if (kind == DG_OP_conv_dx) {
        m = a->N * dg_ceil_div(a->H, a->S) * dg_ceil_div(a->W, a->S);
        n = a->Ci;
        steps = taps * dg_ceil_div(a->Co, DG_TILED_K);
    } else if (kind == DG_OP_conv_dw) {
        m = a->Co;
        n = a->K * a->K * a->Ci;
        steps = a->N * a->Ho * a->Wo / DG_TILED_K;
    }
    t->tile_m = m <= 32 ? 32 : 64;
    t->tile_n = n <= 32 ? 32 : 64;
    if (t->tile_m == 32) t->tile_n = 32;
    const int wide = dg_ceil_div(m, 128) * phases;
    if (m >= 128 && n <= 32 && wide >= 256) t->tile_m = 128;
    if (m >= 128 && n >= 64 && wide * dg_ceil_div(n, kind == DG_OP_conv_dw ? 128 : 64) >= 512) t->tile_m = 128;
    if (t->tile_m == 128 && n >= 128 && wide * dg_ceil_div(n, 128) >= 512) t->tile_n = 128;
    const int blocks = dg_ceil_div(m, t->tile_m) * dg_ceil_div(n, t->tile_n) * phases;
    t->split = split_of(blocks, steps, kind == DG_OP_conv_dw ? 4 : 16);
    if (kind == DG_OP_conv_dw && t->split > a->N) t->split = a->N < 1 ? 1 : a->N;
}

static void work(const dg_op *op, dg_work *w)
{
    const dg_conv_args flat = dg_conv_flat(&op->u.conv);
    const dg_conv_product p = dg_conv_product_of(op->kind, &flat);
    const double m = op->tune.tile_m, n = op->tune.tile_n,
                 steps = dg_ceil_divf(dg_ceil_divf(p.k, w->split), DG_TILED_K) * DG_TILED_K;
    w->blocks = dg_ceil_divf(p.m, m) * dg_ceil_divf(p.n, n) * p.phases * w->split;
    w->products = m * n * steps;
    w->loads = 4 * (m + n) * steps;
    w->outputs = m * n / w->threads;
    w->shared = 4.0 * op->tune.stages * words_of(op->kind, &op->tune);
}

const dg_variant dg_conv_variant_tiled = {.name = "tiled", .check = check, .choose = choose, .work = work};
