/* Declarations shared by the files of the Winograd forward pass and data gradient (conv_winograd_data.c). */
#pragma once

#include "kernels/ops/conv/cpu/conv_winograd.h"

/* Along an axis, tile t reads inputs in_step * (4*t + r) + in_at for r < n. Tile t writes outputs out_step * (4*t + i)
 * + out_at for i < 4. */
typedef struct {
    int in_at, in_step, out_at, out_step, tiles;
} dg_winograd_axis;

typedef struct {
    const real *in, *w;
    real *out, *zeros;
    int N, Hi, Wi, Ci, Ho, Wo, Co, S, P;
    bool adjoint;
    int n, points;
    int taps;
    int segments, phases; /* number of phases of the input, and of the output */
    int ci;
    int terms;
    int chain;
    int NR, blocks;
    bool stream;
    bool few; /* few tiles: V is computed for the whole batch at once */
    int tiles, pieces;
    int room;
    int team;
    size_t lda, u_step, v_step, m_step;
    size_t u_count, v_count, m_count;
} dg_winograd_job;

typedef struct {
    dg_winograd_axis y, x;
    int tiles;
} dg_winograd_grid;

/* Consecutive tiles of a phase, ordered by image, then by row of tiles. */
typedef struct {
    int first, count;
} dg_winograd_piece;

/* Returns the tiles along one axis, for output phase p (backward) or input phase p (forward). */
static inline dg_winograd_axis dg_winograd_make_axis(const dg_winograd_job *j, int p, int outputs)
{
    if (!j->adjoint) return (dg_winograd_axis){p - j->P, j->S, 0, 1, dg_ceil_div(outputs, DG_TILE)};
    int first = dg_ceil_div(dg_max(j->P - p, 0), j->S), end = (outputs - 1 + j->P - p) / j->S + 1;
    if (outputs - 1 + j->P - p < 0) end = first;
    return (dg_winograd_axis){first + 1 - j->taps, 1, j->S * first + p - j->P, j->S,
                              dg_ceil_div(dg_max(end - first, 0), DG_TILE)};
}

static inline dg_winograd_grid dg_winograd_make_grid(const dg_winograd_job *j, int phase)
{
    dg_winograd_grid g = {.y = dg_winograd_make_axis(j, j->adjoint ? phase / j->S : 0, j->Ho),
                          .x = dg_winograd_make_axis(j, j->adjoint ? phase % j->S : 0, j->Wo)};
    g.tiles = g.y.tiles * g.x.tiles;
    return g;
}

/* Compute U, V, and the outputs from M (conv_winograd_data.c). */
void DG_CPU(dg_winograd_weights)(const dg_winograd_job *j, real *U, int phase, int block);
void DG_CPU(dg_winograd_inputs)(const dg_winograd_job *j, const dg_winograd_piece *p, real *V, int phase);
void DG_CPU(dg_winograd_outputs)(const dg_winograd_job *j, const dg_winograd_piece *p, const real *M, int phase,
                                 int block);
