/* The random parameters of the augmentation of one image. The parameters are equal on every backend. */
#pragma once

#include "core/base/rng.h"
#include "core/plan/ops.h"

typedef struct {
    double bias, saturation, contrast;
    int ty, tx;                             /* shift: pixel (i, j) is read from (i + ty, j + tx) */
    int row_from, row_to, col_from, col_to; /* box that is cut out, without row row_to and column col_to */
} dg_augmentation;

static inline DG_HD int dg_augment_whole(uint32_t word, int count)
{
    return (int)((uint64_t)word * (uint64_t)count >> 32);
}

/* Sets the ends of the box along one axis. The box covers half of `side`, and the random `word` determines its
 * centre. */
static inline DG_HD void dg_augment_cut(uint32_t word, int side, int *from, int *to)
{
    const int length = (side + 1) / 2;
    *from = dg_augment_whole(word, side + 1 - length % 2) - length / 2;
    *to = *from + length;
}

/* `image` is the index of an image in the op's tensors. */
static inline DG_HD dg_augmentation dg_augment_of(const dg_augment_args *a, int image)
{
    dg_augmentation g = {0, 1, 1, 0, 0, 0, 0, 0, 0};
    uint32_t first[4], second[4], applied[4] = {0};
    const uint64_t subsequence = dg_subsequence(DG_STREAM_AUGMENT, (uint64_t)a->order << 40 | a->state->step);
    const uint64_t n = (uint64_t)a->first + (uint64_t)image;
    dg_philox(first, a->state->seed, subsequence, 2 * n);
    dg_philox(second, a->state->seed, subsequence, 2 * n + 1);
    const double p = a->state->augment;
    if (p < 1) dg_philox(applied, a->state->seed, subsequence, (uint64_t)1 << 32 | n);
    if (a->what & DG_AUGMENT_COLOR && applied[0] * 0x1p-32 < p) {
        g.bias = first[0] * 0x1p-32 - 0.5;
        g.saturation = first[1] * 0x1p-31;
        g.contrast = first[2] * 0x1p-32 + 0.5;
    }
    if (a->what & DG_AUGMENT_TRANSLATION && applied[1] * 0x1p-32 < p) {
        const int y = (a->H + 4) / 8, x = (a->W + 4) / 8;
        g.ty = dg_augment_whole(first[3], 2 * y + 1) - y;
        g.tx = dg_augment_whole(second[0], 2 * x + 1) - x;
    }
    if (a->what & DG_AUGMENT_CUTOUT && applied[2] * 0x1p-32 < p) {
        dg_augment_cut(second[1], a->H, &g.row_from, &g.row_to);
        dg_augment_cut(second[2], a->W, &g.col_from, &g.col_to);
    }
    return g;
}

/* Returns the source of pixel (i, j) in the image before the shift, or -1 if the pixel is 0. */
static inline DG_HD int dg_augment_from(const dg_augment_args *a, const dg_augmentation *g, int i, int j)
{
    const int y = i + g->ty, x = j + g->tx;
    const int cut = i >= g->row_from && i < g->row_to && j >= g->col_from && j < g->col_to;
    return cut || y < 0 || y >= a->H || x < 0 || x >= a->W ? -1 : y * a->W + x;
}

/* Returns the destination of pixel (y, x), or -1 if the pixel has none. */
static inline DG_HD int dg_augment_to(const dg_augment_args *a, const dg_augmentation *g, int y, int x)
{
    const int i = y - g->ty, j = x - g->tx;
    const int cut = i >= g->row_from && i < g->row_to && j >= g->col_from && j < g->col_to;
    return cut || i < 0 || i >= a->H || j < 0 || j >= a->W ? -1 : i * a->W + j;
}

static inline DG_HD int dg_augment_colours(const dg_augment_args *a) { return a->C == 4 ? 3 : a->C; }
