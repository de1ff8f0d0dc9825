/* Convolutions with K = 2S by minimal filtering (conv_winograd.h), forward and data gradient: one engine.
 *
 * Forward, the S x S phases of the input are summed: one product of S*S*Ci terms for each of the (m+1)^2
 * frequencies. Backward, each phase of the output is a filter of its own over y. Either way, along an axis,
 * tile t reads inputs in_step * (m*t + r) + in_at, r <= m, and writes outputs out_step * (m*t + i) + out_at, i < m.
 *
 *     weights  U[phase][block of channels][frequency][term][NR]
 *     inputs   V[frequency][tile][term]                  of one piece: a few images or a band of one
 *     product  M[frequency][tile][NR]                    of one block of channels
 *
 * Two orders. With many tiles U is made once and every piece meets all of it, V staying in L2. With few tiles
 * and many channels U is the larger part, so V is made for the whole batch and each block of U when its turn comes. */
#include "kernels/ops/conv/cpu/conv_winograd_job.h"

#include <omp.h>
#include <string.h>

enum {
    V_BYTES = 512 << 10, /* V of a piece, in L2 beside M and a panel of U */
    SUM_TERMS = 32,      /* of a chain */
    /* sums of at most so many have chains of half the length: other errors are smaller there, too */
    SHORT_TERMS = 256,
    M_TILES = 64 /* tiles of a piece in the second order: M is in L2, U streams past it */
};

/* a is MR rows of V, read at the same term. Chains of terms are added to c one after another: the errors of
 * one chain of all terms would be twice as large, and the transforms multiply them. */
#define MICRO_ROWS(name, NV)                                                                                \
    static __attribute__((noinline)) void name(const real *a, ptrdiff_t lda, const real *b, real *c, int n) \
    {                                                                                                       \
        const real *row[DG_MR];                                                                             \
        const ptrdiff_t chain = n <= SHORT_TERMS ? SUM_TERMS / 2 : SUM_TERMS;                               \
        DG_UNROLL for (int i = 0; i < DG_MR; i++) row[i] = a + i * lda;                                     \
        for (ptrdiff_t k = 0, end = 0; k < n;) {                                                            \
            dg_vec acc[DG_MR][NV];                                                                          \
            bool first = k == 0;                                                                            \
            end = end + chain < n ? end + chain : n;                                                        \
            DG_UNROLL for (int i = 0; i < DG_MR; i++) DG_UNROLL for (int j = 0; j < (NV); j++)              \
                acc[i][j] = (dg_vec){0};                                                                    \
            for (; k < end; k++, b += (NV)*DG_LANES) {                                                      \
                dg_vec v[NV];                                                                               \
                DG_UNROLL for (int j = 0; j < (NV); j++) v[j] = *(const dg_vec *)(b + j * DG_LANES);        \
                DG_UNROLL for (int i = 0; i < DG_MR; i++) DG_UNROLL for (int j = 0; j < (NV); j++)          \
                    acc[i][j] += row[i][k] * v[j];                                                          \
            }                                                                                               \
            DG_UNROLL for (int i = 0; i < DG_MR; i++) DG_UNROLL for (int j = 0; j < (NV); j++)              \
            {                                                                                               \
                dg_vec *to = (dg_vec *)(c + (i * (NV) + j) * DG_LANES);                                     \
                if (!first) acc[i][j] += *to;                                                               \
                *to = acc[i][j];                                                                            \
            }                                                                                               \
        }                                                                                                   \
    }
MICRO_ROWS(micro2, 2)
MICRO_ROWS(micro1, 1)

typedef dg_winograd_job job;
typedef dg_winograd_piece piece;

/* Tiles of an image, of the outputs of one phase; of its rows. */
static int tile_rows(const job *j, int phase)
{
    return dg_winograd_make_axis(j, j->adjoint ? phase / j->S : 0, j->Ho).tiles;
}

static int row_tiles(const job *j, int phase)
{
    return dg_winograd_make_axis(j, j->adjoint ? phase % j->S : 0, j->Wo).tiles;
}

static int most_tiles(const job *j, int outputs)
{
    int most = 1;
    for (int p = 0; p < (j->adjoint ? j->S : 1); p++) most = dg_max(most, dg_winograd_make_axis(j, p, outputs).tiles);
    return most;
}

static job plan(bool adjoint, const dg_conv_args *a)
{
    job j = {.N = a->N, .S = a->S, .P = a->P, .w = a->w, .adjoint = adjoint};
    int squares = a->S * a->S;
    if (adjoint) {
        j.in = a->y, j.Hi = a->Ho, j.Wi = a->Wo, j.Ci = a->Co;
        j.out = a->x, j.Ho = a->H, j.Wo = a->W, j.Co = a->Ci;
        j.m = dg_winograd_tile(dg_ceil_div(a->H, a->S), dg_ceil_div(a->W, a->S));
    } else {
        j.in = a->x, j.Hi = a->H, j.Wi = a->W, j.Ci = a->Ci;
        j.out = a->y, j.Ho = a->Ho, j.Wo = a->Wo, j.Co = a->Co;
        j.m = dg_winograd_tile(a->Ho, a->Wo);
    }
    j.segments = adjoint ? 1 : squares;
    j.phases = adjoint ? squares : 1;
    j.points = (j.m + 1) * (j.m + 1);
    j.ci = dg_ceil_div(j.Ci, DG_LANES) * DG_LANES;
    j.terms = j.segments * j.ci;
    j.lda = dg_odd_lines((size_t)j.terms);
    j.NR = j.Co <= DG_LANES ? DG_LANES : 2 * DG_LANES;
    j.blocks = dg_ceil_div(j.Co, j.NR);

    int down = most_tiles(&j, j.Ho), across = most_tiles(&j, j.Wo), image = down * across;
    j.few = (long)j.N * image <= j.Co;
    size_t tile = j.lda * (size_t)j.points * sizeof(real);
    if (j.few) {
        j.rows = down;
        j.images = dg_max(1, M_TILES / image);
    } else {
        j.rows = dg_max(1, dg_min(down, (int)(V_BYTES / (tile * (size_t)across))));
        j.images = dg_max(1, (int)(V_BYTES / (tile * (size_t)(across * j.rows))));
        /* whole groups of DG_MR tiles, two at least for each look at a panel of U */
        while (j.images * across * j.rows % DG_MR && j.images > 1 && j.images * across * j.rows > 2 * DG_MR) j.images--;
        j.images = dg_max(j.images, 2 * DG_MR / (across * j.rows));
    }
    j.images = dg_min(j.images, j.N);
    j.bands = dg_ceil_div(down, j.rows);
    j.groups = dg_ceil_div(j.N, j.images);
    int room = dg_ceil_div(j.images * j.rows * across, DG_MR) * DG_MR; /* tiles in M */
    j.room = j.few ? dg_ceil_div(j.N * image, DG_MR) * DG_MR + DG_MR : room;
    j.u_step = dg_odd_lines((size_t)j.terms * (size_t)j.NR);
    j.v_step = dg_odd_lines((size_t)j.room * j.lda);
    j.m_step = dg_odd_lines((size_t)room * (size_t)j.NR);
    j.u_count = (size_t)j.points * j.u_step;
    j.v_count = (size_t)j.points * j.v_step;
    j.m_count = (size_t)j.points * j.m_step;
    j.team = dg_min(j.few ? j.phases * j.blocks : j.groups * j.bands * j.blocks, DG_TEAM);
    return j;
}

/* Outputs of one piece, phase and block. V starts at the piece's first tile. */
static void multiply(const job *j, const piece *p, const real *U, const real *V, real *M, int phase, int block)
{
    int tiles = p->images * dg_max(0, dg_min(p->rows, tile_rows(j, phase) - p->row0)) * row_tiles(j, phase);
    for (int f = 0; f < j->points; f++) {
        const real *v = V + (size_t)f * j->v_step, *u = U + (size_t)f * j->u_step;
        real *c = M + (size_t)f * j->m_step;
        for (int t = 0; t < tiles; t += DG_MR, v += DG_MR * j->lda, c += DG_MR * j->NR) {
            if (j->NR == DG_LANES) micro1(v, (ptrdiff_t)j->lda, u, c, j->terms);
            else micro2(v, (ptrdiff_t)j->lda, u, c, j->terms);
        }
    }
    DG_CPU(dg_winograd_outputs)(j, p, M, phase, block);
}

static piece piece_of(const job *j, int group, int band)
{
    piece p = {group * j->images, 0, band * j->rows, j->rows};
    p.images = dg_min(j->images, j->N - p.n0);
    return p;
}

/* First order, one piece, blocks b0 <= b < b1. */
static void piece_by_all(const job *j, const real *U, real *V, real *M, piece p, int b0, int b1)
{
    for (int phase = 0; phase < j->phases; phase++) {
        DG_CPU(dg_winograd_inputs)(j, &p, V, phase);
        for (int block = b0; block < b1; block++)
            multiply(j, &p, U + (size_t)(phase * j->blocks + block) * j->u_count, V, M, phase, block);
    }
}

/* Second order, one block of one phase. */
static void block_by_all(const job *j, real *U, const real *V, real *M, int phase, int block)
{
    size_t image = (size_t)tile_rows(j, phase) * (size_t)row_tiles(j, phase);
    DG_CPU(dg_winograd_weights)(j, U, phase, block);
    for (int group = 0; group < j->groups; group++) {
        piece p = piece_of(j, group, 0);
        multiply(j, &p, U, V + (size_t)phase * j->v_count + (size_t)p.n0 * image * j->lda, M, phase, block);
    }
}

static void image_inputs(const job *j, real *V, int phase, int n)
{
    size_t image = (size_t)tile_rows(j, phase) * (size_t)row_tiles(j, phase);
    piece p = {n, 1, 0, j->rows};
    DG_CPU(dg_winograd_inputs)(j, &p, V + (size_t)phase * j->v_count + (size_t)n * image * j->lda, phase);
}

static size_t carve(job *j, void *scratch, real **U, real **V, real **M)
{
    dg_carver c = {(uintptr_t)scratch, 0};
    size_t phases = (size_t)j->phases, blocks = (size_t)j->blocks, team = (size_t)j->team;
    j->zeros = dg_carve(&c, (size_t)j->ci * sizeof(real));
    *U = dg_carve(&c, j->u_count * (j->few ? team : phases * blocks) * sizeof(real));
    *V = dg_carve(&c, j->v_count * (j->few ? phases : team) * sizeof(real));
    *M = dg_carve(&c, j->m_count * team * sizeof(real));
    return c.used;
}

size_t DG_CPU(dg_conv_winograd_scratch)(bool adjoint, const dg_conv_args *a)
{
    job j = plan(adjoint, a);
    real *U, *V, *M;
    return carve(&j, NULL, &U, &V, &M);
}

void DG_CPU(dg_conv_winograd)(bool adjoint, const dg_conv_args *a)
{
    job j = plan(adjoint, a);
    real *Us, *Vs, *Ms;
    carve(&j, a->scratch, &Us, &Vs, &Ms);
    memset(j.zeros, 0, (size_t)j.ci * sizeof(real));
    int team = dg_conv_team(a, j.team);
    int parts = team == 1 ? 1 : dg_max(1, dg_min(j.blocks, dg_ceil_div(2 * team, j.groups * j.bands)));
#pragma omp parallel num_threads(team)
    {
        size_t t = (size_t)omp_get_thread_num();
        real *M = Ms + t * j.m_count;
        if (j.few) {
#pragma omp for collapse(2) schedule(static)
            for (int phase = 0; phase < j.phases; phase++)
                for (int n = 0; n < j.N; n++) image_inputs(&j, Vs, phase, n);
#pragma omp for collapse(2) schedule(dynamic, 1)
            for (int phase = 0; phase < j.phases; phase++)
                for (int block = 0; block < j.blocks; block++)
                    block_by_all(&j, Us + t * j.u_count, Vs, M, phase, block);
        } else {
#pragma omp for collapse(2) schedule(static)
            for (int phase = 0; phase < j.phases; phase++)
                for (int block = 0; block < j.blocks; block++)
                    DG_CPU(dg_winograd_weights)(&j, Us + (size_t)(phase * j.blocks + block) * j.u_count, phase, block);
#pragma omp for collapse(3) schedule(dynamic, 1)
            for (int group = 0; group < j.groups; group++)
                for (int band = 0; band < j.bands; band++)
                    for (int part = 0; part < parts; part++)
                        piece_by_all(&j, Us, Vs + t * j.v_count, M, piece_of(&j, group, band), part * j.blocks / parts,
                                     (part + 1) * j.blocks / parts);
        }
    }
}
