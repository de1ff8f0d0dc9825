/* What the parts of minimal filtering, forward and data gradient, know in common (conv_winograd_data.c). */
#ifndef DG_CONV_WINOGRAD_JOB_H
#define DG_CONV_WINOGRAD_JOB_H

#include "kernels/ops/conv/cpu/conv_winograd.h"

typedef struct {
    int in_at, in_step, out_at, out_step, tiles;
} dg_winograd_axis;

typedef struct {
    const real *in, *w;
    real *out, *zeros;
    int N, Hi, Wi, Ci, Ho, Wo, Co, S, P;
    bool adjoint;
    int m, points;        /* tile of outputs, (m+1)^2 */
    int segments, phases; /* phases of the input, of the output */
    int ci;               /* Ci in whole vectors */
    int terms;            /* segments * ci */
    int NR, blocks;
    bool few;          /* tiles: the second order */
    int images, rows;  /* of a piece: images, rows of tiles */
    int groups, bands; /* pieces */
    int room;          /* tiles in V, whole groups of DG_MR */
    int team;
    size_t lda, u_step, v_step, m_step; /* reals between tiles of V; between frequencies */
    size_t u_count, v_count, m_count;   /* reals of U of one block and phase, of V of one phase, of M */
} dg_winograd_job;

typedef struct {
    int n0, images, row0, rows; /* images and rows of tiles */
} dg_winograd_piece;

/* Axis of output phase p (backward) or input phase p (forward). */
static inline dg_winograd_axis dg_winograd_make_axis(const dg_winograd_job *j, int p, int outputs)
{
    if (!j->adjoint) return (dg_winograd_axis){p - j->P, j->S, 0, 1, dg_ceil_div(outputs, j->m)};
    int first = dg_ceil_div(dg_max(j->P - p, 0), j->S), end = (outputs - 1 + j->P - p) / j->S + 1;
    if (outputs - 1 + j->P - p < 0) end = first;
    return (dg_winograd_axis){first - 1, 1, j->S * first + p - j->P, j->S, dg_ceil_div(dg_max(end - first, 0), j->m)};
}

/* U of one phase and block (conv_winograd_weights.c). */
void DG_CPU(dg_winograd_weights)(const dg_winograd_job *j, real *U, int phase, int block);

/* V of a piece; outputs from M (conv_winograd_tiles.c). */
void DG_CPU(dg_winograd_inputs)(const dg_winograd_job *j, const dg_winograd_piece *p, real *V, int phase);
void DG_CPU(dg_winograd_outputs)(const dg_winograd_job *j, const dg_winograd_piece *p, const real *M, int phase,
                                 int block);

#endif
