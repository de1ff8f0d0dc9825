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

static const char *check(const dg_op *op, dg_tune *t, dg_type real, const dg_gpu *gpu)
{
    const dg_conv_args *a = &op->u.conv;
    const char *why = dg_conv_check(op, t, real);
    if (why) return why;
    if (!dg_conv_is_halving(a)) return no("variant thin is for K=4 S=2 P=1");
    if (a->Ci != 1 && a->Ci != 3) return no("variant thin is for 1 or 3 channels of x, not %d", a->Ci);
    if (a->Co % 4) return no("variant thin needs channels in multiples of 4, not %d", a->Co);
    const int threads = op->kind == DG_OP_conv_dw ? 256 : 128;
    if (t->tile_m) return no("variant thin accepts no tile, because its tile is fixed");
    if (t->block && t->block != threads)
        return no("block=%d: variant thin has %d threads per block", t->block, threads);
    t->block = threads;
    if (op->kind != DG_OP_conv_dx && t->stages) return no("variant thin accepts no stages");
    if (op->kind == DG_OP_conv_dx) why = dg_conv_check_stages(t, 2, dg_thin_dx_tile_of(a).words, gpu);
    return why ? why : dg_conv_check_split(t, most_parts(op), 1);
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

static void work(const dg_op *op, dg_work *w)
{
    const dg_conv_args *a = &op->u.conv;
    if (op->kind == DG_OP_conv_dx) {
        work_dx(op, w);
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

static const char *check_mma(const dg_op *op, dg_tune *t, dg_type real, const dg_gpu *gpu)
{
    const dg_conv_args *a = &op->u.conv;
    const bool dx = op->kind == DG_OP_conv_dx;
    const char *why = dg_conv_check(op, t, real);
    if (why) return why;
    if (gpu->math != DG_MATH_BF16) return no("variant thin_mma rounds its operands: requires precision bf16");
    why = dg_conv_check_math(gpu);
    if (why) return why;
    if (!dg_conv_is_halving(a)) return no("variant thin_mma is for K=4 S=2 P=1");
    if (a->Ci != 1 && a->Ci != 3) return no("variant thin_mma is for 1 or 3 channels of x, not %d", a->Ci);
    if (a->Co % 4) return no("variant thin_mma needs channels in multiples of 4, not %d", a->Co);
    if (t->tile_m || t->stages) return no("variant thin_mma has a fixed tile and no stages");
    const int rows = dg_thin_mma_rows(a->Ho), threads = dx                           ? rows * 32
                                                        : op->kind == DG_OP_conv_fwd ? DG_THIN_TILE_ROWS * 32
                                                                                     : 256;
    if (t->block && t->block != threads)
        return no("block=%d: variant thin_mma has %d threads per block", t->block, threads);
    const size_t bytes = dx ? (size_t)DG_THIN_MMA_BYTES(a->Ci, a->Co, rows) : 0;
    if (bytes > gpu->shared)
        return no("variant thin_mma needs %zu bytes of shared memory for %d channels (limit %zu)", bytes, a->Co,
                  gpu->shared);
    t->math = gpu->math;
    t->block = threads;
    return dg_conv_check_split(t, most_parts(op), 1);
}

/* 32-bit words per dg_quad (conv_thin_mma.cuh). Clocks count only accesses to shared memory, because such accesses take
 * longer than the products. */
static const double words = 2;

static void fwd_work(const dg_op *op, dg_work *w)
{
    const dg_conv_args *a = &op->u.conv;
    const double taps = 16.0 * a->Ci, pixels = 4 * 32, channels = 32, warps = 4, image = 10.0 * 66 * a->Ci,
                 sums = 3.0 * 2 * w->threads;
    const double pitch = dg_ceil_divf(66 * a->Ci * words / 4 - 8, 32) * 32 + 8,
                 held = 10 * pitch + taps / 4 * channels * words;
    w->blocks = a->N * dg_ceil_divf(a->Ho, 4) * dg_ceil_divf(a->Wo, 32) * dg_ceil_divf(a->Co, channels);
    w->products = pixels * channels * taps;
    w->loads = 4 * (image + taps * channels);
    w->shared = 4 * (held > sums ? held : sums);
    /* clocks to load the image and the weights, to read operands, and to store y */
    w->clocks = 2 * image / 32 + taps * channels / 32 * (1 + words / 4) + warps * a->Ci * 8 * words +
                pixels * channels / 32;
}

static void dw_work(const dg_op *op, dg_work *w)
{
    const dg_conv_args *a = &op->u.conv;
    const double taps = 16.0 * a->Ci, pixels = 4 * 32, channels = 32, warps = 8, image = 10.0 * 66 * a->Ci,
                 each = dg_ceil_divf(a->N * dg_ceil_divf(a->Ho, 4) * dg_ceil_divf(a->Wo, 32), w->split);
    w->blocks = w->split * dg_ceil_divf(a->Co, channels);
    w->products = each * pixels * channels * taps;
    w->loads = 4 * each * (image + pixels * channels);
    w->shared = 4.0 * DG_THIN_DW_WORDS(a->Ci);
    /* Each tile loads the image and y, and reads operands. At the end, warps exchange their sums. */
    w->clocks = each * (3 * image / 32 + pixels * channels / 32 + warps * taps / 8 * words) + 14 * taps;
}

static void dx_work(const dg_op *op, dg_work *w)
{
    const dg_conv_args *a = &op->u.conv;
    const int whole = dg_thin_mma_rows(a->Ho), bytes = DG_THIN_MMA_BYTES(a->Ci, a->Co, whole);
    const double taps = 16.0 * a->Ci, rows = whole, cols = DG_THIN_MMA_COLS,
                 groups = dg_ceil_divf(a->Wo, DG_THIN_MMA_COLS), chunks = dg_ceil_divf(a->Co, DG_THIN_MMA_CHUNK);
    w->blocks = a->N * dg_ceil_divf(a->Ho + 1, rows - 1);
    w->products = rows * groups * cols * taps * chunks * DG_THIN_MMA_CHUNK;
    w->loads = 4 * (rows * a->Wo * a->Co + taps * a->Co);
    w->shared = bytes;
    /* Each row of each group of columns reads operands, passes on sums, and stores pixels. Weights are loaded once. */
    w->clocks = rows * groups *
                    (chunks * cols * DG_THIN_MMA_CHUNK / 32 + chunks * taps / 8 * words + 2 * 4 * a->Ci +
                     3 * 4 * a->Ci) +
                chunks * taps / 8 * (2 + words);
}

static void mma_work(const dg_op *op, dg_work *w)
{
    (op->kind == DG_OP_conv_fwd ? fwd_work : op->kind == DG_OP_conv_dw ? dw_work : dx_work)(op, w);
}

const dg_variant dg_conv_variant_thin_mma = {
    .name = "thin_mma", .check = check_mma, .choose = choose, .work = mma_work, .fused = DG_FUSED_THIN_MMA};
