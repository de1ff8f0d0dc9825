/* Variant patch: data gradient of 4x4 convolutions with stride 2, all four phases from one patch. */
#include "kernels/ops/conv/cuda/conv_rows.h"

#define no dg_variant_no

static int threads_of(int m, int n)
{
#define X(POSITIONS, BN) \
    if (m == POSITIONS && n == BN) return POSITIONS / 4 * (BN / 4);
    DG_PATCH_TILES(X)
#undef X
    return 0;
}

static dg_patch_geometry geometry_of(const dg_conv_args *a, const dg_tune *t)
{
    return a->W <= DG_PATCH_SMALL ? (dg_patch_geometry){4, 4, t->tile_m / 16, t->tile_n}
                                  : (dg_patch_geometry){t->tile_m / 8, 8, 1, t->tile_n};
}

static const char *check(const dg_op *op, dg_tune *t, dg_type real, const dg_gpu *gpu)
{
    const dg_conv_args *a = &op->u.conv;
    const char *why = dg_conv_check(op, t, real);
    if (why) return why;
    if (!dg_conv_is_halving(a)) return no("variant patch is for K=4 S=2 P=1");
    if (a->Ci % 4 || a->Co % 4)
        return no("variant patch needs channels in multiples of 4, not %d", a->Ci % 4 ? a->Ci : a->Co);
    if (!t->tile_m) t->tile_m = t->tile_n = 32;
    why = dg_conv_check_tile(t, threads_of(t->tile_m, t->tile_n));
    const dg_patch_geometry g = geometry_of(a, t);
    if (!why) why = dg_conv_check_stages(t, 2, dg_patch_words(&g), gpu);
    return why ? why : dg_conv_check_split(t, a->Co / DG_PATCH_STEP, 1);
}

static void choose(const dg_op *op, dg_tune *t, const dg_gpu *gpu)
{
    (void)gpu;
    const dg_conv_args *a = &op->u.conv;
    const int positions = a->N * dg_ceil_div(a->H, 2) * dg_ceil_div(a->W, 2), steps = a->Co / DG_PATCH_STEP;
    t->tile_m = 64;
    t->tile_n = a->Ci <= 32 || dg_ceil_div(positions, 64) * dg_ceil_div(a->Ci, 64) < 512 ? 32 : 64;
    int blocks = dg_ceil_div(positions, 64) * dg_ceil_div(a->Ci, t->tile_n);
    if (blocks < 256) {
        t->tile_m = 32;
        blocks = dg_ceil_div(positions, 32) * dg_ceil_div(a->Ci, t->tile_n);
    }
    t->split = dg_conv_split(blocks, steps, 16);
}

/* Counts a block's work: four phases of rows x cols positions of some images, from one patch with a border of 1. */
void dg_patch_work(const dg_op *op, const dg_patch_geometry *g, int computed, dg_work *w)
{
    const dg_conv_args *a = &op->u.conv;
    const double positions = (double)g->rows * g->cols * g->images;
    const double share = dg_ceil_divf(a->Co, (double)DG_PATCH_STEP * w->split) * DG_PATCH_STEP;
    w->blocks = dg_ceil_divf(dg_ceil_divf(a->H, 2), g->rows) * dg_ceil_divf(dg_ceil_divf(a->W, 2), g->cols) *
                dg_ceil_divf(a->N, g->images) * dg_ceil_divf(a->Ci, g->channels) * w->split;
    w->products = positions * 16 * computed * share;
    w->loads = 4 * share * ((double)g->images * (g->rows + 2) * (g->cols + 2) + 16.0 * g->channels);
    w->outputs = positions * 4 * computed / w->threads;
    w->shared = 4.0 * op->tune.stages * dg_patch_words(g);
}

static void work(const dg_op *op, dg_work *w)
{
    const dg_patch_geometry g = geometry_of(&op->u.conv, &op->tune);
    dg_patch_work(op, &g, g.channels, w);
}

const dg_variant dg_conv_variant_patch = {.name = "patch", .check = check, .choose = choose, .work = work};
