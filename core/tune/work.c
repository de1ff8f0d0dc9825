/* The launchers' arithmetic once more, for times instead of grids: conv_tiled.cu, conv_mma_*.cuh, conv_patch.cu,
 * conv_thin.cu, fused_thin_*.cu*, conv_gemv.cu, conv_gemm.cu, norm_act.cu. */
#include "core/tune/work.h"

#include <stdbool.h>
#include <string.h>

#include "core/tune/conv_tiles.h"
#include "core/plan/precision.h"
#include "core/tune/variants.h"

static double up(double a, double b) { return (double)(int64_t)((a + b - 1) / b); }

static bool is(const dg_op *op, const char *variant)
{
    return op->tune.variant && strcmp(op->tune.variant, variant) == 0;
}

/* A convolution as a product of matrices, for one phase: m x n results of k products. */
typedef struct {
    double m, n, k;
    double phases;  /* of conv_dx: S * S products beside one another */
    double results; /* that the op writes */
} product;

static product product_of(dg_op_kind kind, const dg_conv_args *a)
{
    const double pixels = (double)a->N * a->Ho * a->Wo, weights = (double)a->K * a->K * a->Ci;
    if (kind == DG_OP_conv_fwd) return (product){pixels, a->Co, weights, 1, pixels * a->Co};
    if (kind == DG_OP_conv_dw) return (product){a->Co, weights, pixels, 1, a->Co * weights};
    const double taps = up(a->K, a->S) * up(a->K, a->S);
    return (product){a->N * up(a->H, a->S) * up(a->W, a->S), a->Ci, taps * a->Co, (double)a->S * a->S,
                     (double)a->N * a->H * a->W * a->Ci};
}

/* One thread a result. What it reads comes from the cache: neighbours share one of the two factors. */
static void direct(const dg_op *op, dg_work *w)
{
    const product p = product_of(op->kind, &op->u.conv);
    w->blocks = up(p.results, w->threads);
    w->products = p.k * w->threads;
    w->loads = 4 * p.k * w->threads;
    w->outputs = 1;
}

/* Whole tiles of results, every block its share of the sum. */
static void tiled(const dg_op *op, dg_work *w)
{
    const dg_conv_args flat = dg_conv_flat(&op->u.conv);
    const product p = product_of(op->kind, &flat);
    const double m = op->tune.tile_m, n = op->tune.tile_n, steps = up(up(p.k, w->split), DG_TILED_K) * DG_TILED_K;
    w->blocks = up(p.m, m) * up(p.n, n) * p.phases * w->split;
    w->products = m * n * steps;
    w->loads = 4 * (m + n) * steps;
    w->outputs = m * n / w->threads;
    const bool rows_m = op->kind != DG_OP_conv_dw, rows_n = op->kind == DG_OP_conv_fwd;
    w->shared = 4.0 * op->tune.stages * DG_TILED_WORDS(op->tune.tile_m, op->tune.tile_n, rows_m, rows_n);
}

/* All four phases of rows x cols positions of some images, from one patch with a border of one. */
static void patch(const dg_op *op, dg_work *w)
{
    const dg_conv_args *a = &op->u.conv;
    const bool thin = is(op, "thin"), small = a->W <= (thin ? 4 : 1) * DG_PATCH_SMALL;
    const int rows = thin ? small ? 8 : 16 : small ? 4 : op->tune.tile_m / 8;
    const int cols = thin ? small ? 8 : 32 : small ? 4 : 8;
    const int images = !small ? 1 : thin ? 8 : op->tune.tile_m / 16, channels = thin ? 4 : op->tune.tile_n;
    const double positions = (double)rows * cols * images, computed = thin ? a->Ci : channels;
    const double share = up(a->Co, (double)DG_PATCH_STEP * w->split) * DG_PATCH_STEP;
    w->blocks = up(up(a->H, 2), rows) * up(up(a->W, 2), cols) * up(a->N, images) * up(a->Ci, channels) * w->split;
    w->products = positions * 16 * computed * share;
    w->loads = 4 * share * ((double)images * (rows + 2) * (cols + 2) + 16.0 * channels);
    w->outputs = positions * 4 * computed / w->threads;
    const int words = DG_PATCH_WORDS(rows, cols, images, channels);
    w->shared = 4.0 * op->tune.stages * words;
}

/* 4 x 32 pixels and 32 channels a block; of conv_dw, all the tiles of its part one after another. */
static void thin(const dg_op *op, dg_work *w)
{
    const dg_conv_args *a = &op->u.conv;
    const double tiles = a->N * up(a->Ho, 4) * up(a->Wo, 32), pixels = 4 * 32, channels = 32,
                 picture = 10.0 * 66 * a->Ci;
    const bool dw = op->kind == DG_OP_conv_dw;
    const double each = dw ? up(tiles, w->split) : 1;
    w->blocks = (dw ? w->split : tiles) * up(a->Co, channels);
    w->products = each * pixels * channels * 16 * a->Ci;
    w->loads = 4 * each * (picture + (dw ? pixels * channels : 16 * a->Ci * channels));
    w->outputs = dw ? 16 * a->Ci : 32;
    w->shared = 4 * (picture + (dw ? pixels * channels : 16 * a->Ci * (channels + 4)));
}

/* Thin on tensor cores: what shared memory does takes longer than the products. Words of a quad: conv_thin_mma.cuh. */
static void thin_mma(const dg_op *op, dg_work *w)
{
    const dg_conv_args *a = &op->u.conv;
    const int unit = dg_math_unit(op->tune.math), bytes = DG_THIN_MMA_BYTES(a->Ci, a->Co, unit);
    const double taps = 16.0 * a->Ci, words = 16.0 / unit;
    if (op->kind == DG_OP_conv_fwd) {
        const double pixels = 4 * 32, channels = 32, warps = 4, picture = 10.0 * 66 * a->Ci,
                     sums = 3.0 * 2 * w->threads;
        const double pitch = up(66 * a->Ci * words / 4 - 8, 32) * 32 + 8,
                     held = 10 * pitch + taps / 4 * channels * words;
        w->blocks = a->N * up(a->Ho, 4) * up(a->Wo, 32) * up(a->Co, channels);
        w->products = pixels * channels * taps;
        w->loads = 4 * (picture + taps * channels);
        w->shared = 4 * (held > sums ? held : sums);
        /* the picture, a word at a time, and the weights in and out; four quads of each factor for a row of the taps; y
         */
        w->clocks = 2 * picture / 32 + taps * channels / 32 * (1 + words / 4) + warps * a->Ci * 8 * words +
                    pixels * channels / 32;
        return;
    }
    if (op->kind == DG_OP_conv_dw) {
        const double each = up(a->N * up(a->Ho, 4) * up(a->Wo, 32), w->split), pixels = 4 * 32, channels = 32,
                     warps = 8, picture = 10.0 * 66 * a->Ci;
        w->blocks = w->split * up(a->Co, channels);
        w->products = each * pixels * channels * taps;
        w->loads = 4 * each * (picture + pixels * channels);
        w->shared = 4.0 * DG_THIN_DW_WORDS(a->Ci);
        /* of each tile the picture in and, twice, out, y from memory and quads of the picture; then the sums of the
         * warps to and from each other */
        w->clocks = each * (3 * picture / 32 + pixels * channels / 32 + warps * taps / 8 * words) + 14 * taps;
        return;
    }
    const double rows = DG_THIN_MMA_ROWS, groups = up(a->Wo, DG_THIN_MMA_COLS), chunks = up(a->Co, DG_THIN_MMA_CHUNK),
                 cols = DG_THIN_MMA_COLS;
    w->blocks = a->N * up(a->Ho + 1, rows - 1);
    w->products = rows * groups * cols * taps * chunks * DG_THIN_MMA_CHUNK;
    w->loads = 4 * (rows * a->Wo * a->Co + taps * a->Co);
    w->shared = bytes;
    /* positions and weights of each chunk; what is handed on, out and in; shuffles, pixels in and out, and to memory;
     * at first the weights */
    w->clocks = rows * groups *
                    (chunks * cols * DG_THIN_MMA_CHUNK / 32 + chunks * taps / 8 * words + 2 * 4 * a->Ci +
                     3 * 4 * a->Ci) +
                chunks * taps / 8 * (2 + words);
}

/* Pieces of 64 positions with their patches; all taps and phases from one of them. */
static void mma(const dg_op *op, dg_work *w)
{
    const dg_conv_args *a = &op->u.conv;
    const bool dx = op->kind == DG_OP_conv_dx, dw = op->kind == DG_OP_conv_dw, small = a->Wo <= DG_MMA_SMALL;
    const double side = small ? 4 : 8, m = op->tune.tile_m, n = op->tune.tile_n,
                 chunk = 2 * dg_math_unit(op->tune.math);
    const double cells = a->N * up(dx ? up(a->H, 2) : a->Ho, side) * up(dx ? up(a->W, 2) : a->Wo, side),
                 cell = side * side;
    /* as dev_pool hands them out, all of its parts are whole units */
    w->shared = dg_mma_tile_of(op->kind, a, &op->tune).bytes;
    w->warpgroups = is(op, "wgmma");
    if (dw) {
        const double pieces = up(up(cells, 64 / cell), w->split);
        w->blocks = up(a->Co, m) * up(a->Ci, n) * w->split;
        w->products = pieces * 64 * m * n * 16;
        w->loads = 4 * pieces * (64 * m + DG_MMA_VALUES(small, 1, 1) * n);
        w->outputs = m * n * 16 / w->threads;
        return;
    }
    const double share = up(up(dx ? a->Co : a->Ci, chunk), w->split) * chunk; /* channels of a part */
    w->blocks = up(cells, m / cell) * up(dx ? a->Ci : a->Co, n) * w->split;
    w->products = m * n * 16 * share;
    w->loads = 4 * share * (m / 64 * DG_MMA_VALUES(small, 1, !dx) + 16 * n);
    w->outputs = m * n * (dx ? 4 : 1) / w->threads;
}

static void gemv(const dg_op *op, dg_work *w)
{
    const dg_conv_args a = dg_conv_flat(&op->u.conv);
    w->blocks = op->kind == DG_OP_conv_fwd  ? a.N
                : op->kind == DG_OP_conv_dx ? up(a.Ci / 4.0, w->threads) * a.N
                                            : up(a.Ci, 128) * a.Co;
    w->products = (double)a.N * a.Ci * a.Co / w->blocks;
    w->outputs = 4;
}

/* One product, which we cannot look into, beside a kernel that unfolds or folds patches. */
static void cublas(const dg_op *op, dg_work *w)
{
    const dg_conv_args a = dg_conv_flat(&op->u.conv);
    const product p = product_of(op->kind == DG_OP_conv_dx ? DG_OP_conv_fwd : op->kind, &a);
    const bool flat = a.K == 1 && a.S == 1 && a.P == 0;
    const double patches = (double)a.N * a.Ho * a.Wo * a.K * a.K * a.Ci;
    w->threads = 128;
    w->blocks = up(p.m, 128) * up(p.n, 64);
    w->products = 128 * 64 * p.k;
    w->loads = 4 * (128 + 64) * p.k;
    w->outputs = 64;
    if (flat) return;
    w->kernels++;
    w->moved = 4 * 2 * patches;
}

void dg_conv_work(const dg_op *op, dg_type real, dg_work *w)
{
    if (is(op, "tiled")) tiled(op, w);
    else if (is(op, "mma") || is(op, "wgmma")) mma(op, w);
    else if (is(op, "patch") || (is(op, "thin") && op->kind == DG_OP_conv_dx)) patch(op, w);
    else if (is(op, "thin_mma")) thin_mma(op, w);
    else if (is(op, "thin")) thin(op, w);
    else if (is(op, "gemv")) gemv(op, w);
    else if (is(op, "cublas")) cublas(op, w);
    else direct(op, w);
    w->loads *= (double)dg_type_bytes(real) / 4;
    if (w->split <= 1) return;
    w->kernels++; /* the parts are written, read and added up */
    w->moved += 4 * 2 * w->split * product_of(op->kind, &op->u.conv).results;
}

dg_work dg_work_of(const dg_op *op, dg_type real)
{
    dg_work w = {.kernels = 1,
                 .threads = op->tune.block ? op->tune.block : 256,
                 .split = op->tune.split > 1 ? op->tune.split : 1};
    const dg_op_info *info = dg_op_info_of(op->kind);
    if (info->work) info->work(op, real, &w);
    return w;
}
