/* Variants thin and thin_mma of the convolutions: x is an image of 1 or 3 channels. */
#include "kernels/ops/conv/cuda/conv_rows.h"

#define no dg_variant_no

/* Returns the maximum number of parts of a sum: one per tile (weight gradient), or 1. */
static int most_parts(const dg_op *op)
{
    const dg_conv_args *a = &op->u.conv;
    return op->kind == DG_OP_conv_dw ? a->N * dg_ceil_div(a->Ho, 4) * dg_ceil_div(a->Wo, 32) : 1;
}

static void choose(const dg_op *op, dg_tune *t, const dg_gpu *gpu)
{
    (void)gpu;
    if (op->kind != DG_OP_conv_dw) return;
    const int most = most_parts(op);
    t->split = most < 1 ? 1 : most < 256 ? most : 256;
}

dg_thin_dx_tile dg_thin_dx_tile_of(const dg_conv_args *a)
{
    static const dg_thin_dx_tile tiles[] = {{DG_THIN_DX_SMALL, 0}, {DG_THIN_DX_LARGE, 0}};
    dg_thin_dx_tile t = tiles[a->W > DG_THIN_SMALL];
    t.words = DG_THIN_DX_WORDS(t.rows, t.cols, t.images);
    return t;
}

/* Sets the threads per block, and checks tile, stages and shared memory. */
static const char *check_launch(const dg_op *op, dg_tune *t, bool mma, const dg_gpu *gpu)
{
    const dg_conv_args *a = &op->u.conv;
    const bool dx = op->kind == DG_OP_conv_dx;
    const int rows = dg_thin_mma_rows(a->Ho), threads = op->kind == DG_OP_conv_dw ? 256 : dx && mma ? rows * 32 : 128;
    if (t->tile_m) return no("variant %s accepts no tile, because its tile is fixed", t->variant->name);
    if (t->block && t->block != threads)
        return no("block=%d: variant %s has %d threads per block", t->block, t->variant->name, threads);
    t->block = threads;
    if (t->stages && (mma || !dx)) return no("variant %s accepts no stages", t->variant->name);
    if (!dx) return NULL;
    if (!mma) return dg_conv_check_stages(t, 2, dg_thin_dx_tile_of(a).words, gpu);
    const size_t bytes = (size_t)DG_THIN_MMA_BYTES(a->Ci, a->Co, rows);
    return bytes <= gpu->shared ? NULL
                                : no("variant thin_mma needs %zu bytes of shared memory for %d channels (limit %zu)",
                                     bytes, a->Co, gpu->shared);
}

static const char *check(const dg_op *op, dg_tune *t, dg_type real, const dg_gpu *gpu)
{
    const dg_conv_args *a = &op->u.conv;
    const bool mma = t->variant == &dg_conv_variant_thin_mma;
    const char *name = t->variant->name;
    const char *why = mma ? dg_conv_check_rounded(op, t, real, gpu) : dg_conv_check(op, t, real);
    if (why) return why;
    if (!dg_conv_is_halving(a)) return no("variant %s is for K=4 S=2 P=1", name);
    if (a->Ci != 1 && a->Ci != 3) return no("variant %s is for 1 or 3 channels of x, not %d", name, a->Ci);
    if (a->Co % 4) return no("variant %s needs channels in multiples of 4, not %d", name, a->Co);
    why = check_launch(op, t, mma, gpu);
    if (why) return why;
    if (mma) t->math = gpu->math;
    return dg_conv_check_split(t, most_parts(op), 1);
}

static void work_dx(const dg_op *op, dg_work *w)
{
    const dg_conv_args *a = &op->u.conv;
    const dg_thin_dx_tile p = dg_thin_dx_tile_of(a);
    const double each = (double)p.rows * p.cols * p.images;
    w->blocks = dg_ceil_divf(dg_ceil_divf(a->H, 2), p.rows) * dg_ceil_divf(dg_ceil_divf(a->W, 2), p.cols) *
                dg_ceil_divf(a->N, p.images);
    w->products = each * 16 * a->Ci * a->Co;
    w->loads = 4.0 * a->Co * (p.images * (p.rows + 2) * (p.cols + 2) + 16 * 4);
    w->outputs = each * 4 * a->Ci / w->threads;
    w->shared = 4.0 * op->tune.stages * p.words;
}

static void work_mma_dx(const dg_op *op, dg_work *w)
{
    const dg_conv_args *a = &op->u.conv;
    const int rows = dg_thin_mma_rows(a->Ho);
    const double taps = 16.0 * a->Ci, groups = dg_ceil_divf(a->Wo, DG_THIN_MMA_COLS),
                 channels = dg_ceil_divf(a->Co, DG_THIN_MMA_CHUNK) * DG_THIN_MMA_CHUNK;
    w->blocks = a->N * dg_ceil_divf(a->Ho + 1, rows - 1);
    w->products = rows * groups * DG_THIN_MMA_COLS * taps * channels;
    w->loads = 4 * ((double)rows * a->Wo * a->Co + taps * a->Co);
    const int64_t bytes = DG_THIN_MMA_BYTES(a->Ci, a->Co, rows);
    w->shared = (double)bytes;
}

static void work(const dg_op *op, dg_work *w)
{
    const dg_conv_args *a = &op->u.conv;
    if (op->kind == DG_OP_conv_dx) {
        (op->tune.variant == &dg_conv_variant_thin_mma ? work_mma_dx : work_dx)(op, w);
        return;
    }
    const double tiles = a->N * dg_ceil_divf(a->Ho, 4) * dg_ceil_divf(a->Wo, 32), pixels = 4 * 32, channels = 32,
                 image = 10.0 * 66 * a->Ci;
    const bool dw = op->kind == DG_OP_conv_dw;
    const double each = dw ? dg_ceil_divf(tiles, w->split) : 1;
    w->blocks = (dw ? w->split : tiles) * dg_ceil_divf(a->Co, channels);
    w->products = each * pixels * channels * 16 * a->Ci;
    w->loads = 4 * each * (image + (dw ? pixels * channels : 16 * a->Ci * channels));
    w->outputs = dw ? 16 * a->Ci : 32;
    w->shared = 4 * (image + (dw ? pixels * channels : 16 * a->Ci * (channels + 4)));
}

const dg_variant dg_conv_variant_thin = {
    .name = "thin", .check = check, .choose = choose, .work = work, .fused = DG_FUSED_THIN};
const dg_variant dg_conv_variant_thin_mma = {
    .name = "thin_mma", .check = check, .choose = choose, .work = work, .fused = DG_FUSED_THIN_MMA};
