/* Winograd convolution (conv_winograd.h), forward pass and data gradient, for K = 2S, or K = 3 and S = 1.
 *
 * In the forward pass, each frequency is one matrix product with S*S*Ci terms. In the data gradient, each phase of the
 * output is a separate filter of y.
 *   U[phase][block of channels][frequency][term][NR]: transformed weights.
 *   V[frequency][tile][term]: transformed inputs of a piece (consecutive tiles).
 *   M[frequency][tile][NR]: products of one block of channels.
 * With many tiles, U is computed once. V of each piece stays in L2 and is multiplied by all of U. With few tiles
 * (`few`), V is computed for the whole batch and multiplied by one block of U after another. */
#include "kernels/ops/conv/cpu/conv_winograd_job.h"

#include <omp.h>
#include <string.h>

enum {
    V_BYTES = 384 << 10,
    SUM_TERMS = 32,
    SHORT_TERMS = 256,
    M_TILES = 64 /* tiles per piece if `few` is set, so that M fits L2 */
};

/* Multiplies DG_MR rows of V by NV vectors of U. Terms are summed in chains of length `chain`, because a single chain
 * would have twice the error. */
#define MICRO_ROWS(name, NV)                                                                                           \
    static __attribute__((noinline)) void name(const real *a, ptrdiff_t lda, const real *b, real *c, int n, int chain) \
    {                                                                                                                  \
        const real *row[DG_MR];                                                                                        \
        DG_UNROLL for (int i = 0; i < DG_MR; i++) row[i] = a + i * lda;                                                \
        for (ptrdiff_t k = 0, end = 0; k < n;) {                                                                       \
            dg_vec acc[DG_MR][NV];                                                                                     \
            bool first = k == 0;                                                                                       \
            end = end + chain < n ? end + chain : n;                                                                   \
            DG_UNROLL for (int i = 0; i < DG_MR; i++) DG_UNROLL for (int j = 0; j < (NV); j++)                         \
                acc[i][j] = (dg_vec){0};                                                                               \
            for (; k < end; k++, b += (NV)*DG_LANES) {                                                                 \
                dg_vec v[NV];                                                                                          \
                DG_UNROLL for (int j = 0; j < (NV); j++) v[j] = *(const dg_vec *)(b + j * DG_LANES);                   \
                DG_UNROLL for (int i = 0; i < DG_MR; i++) DG_UNROLL for (int j = 0; j < (NV); j++)                     \
                    acc[i][j] += row[i][k] * v[j];                                                                     \
            }                                                                                                          \
            DG_UNROLL for (int i = 0; i < DG_MR; i++) DG_UNROLL for (int j = 0; j < (NV); j++)                         \
            {                                                                                                          \
                dg_vec *to = (dg_vec *)(c + (i * (NV) + j) * DG_LANES);                                                \
                if (!first) acc[i][j] += *to;                                                                          \
                *to = acc[i][j];                                                                                       \
            }                                                                                                          \
        }                                                                                                              \
    }
MICRO_ROWS(micro2, 2)
MICRO_ROWS(micro1, 1)

typedef dg_winograd_job job;
typedef dg_winograd_piece piece;

static int most_tiles(const job *j)
{
    int most = 1;
    for (int phase = 0; phase < j->phases; phase++) most = dg_max(most, dg_winograd_make_grid(j, phase).tiles);
    return most;
}

static int phase_tiles(const job *j, int phase) { return j->N * dg_winograd_make_grid(j, phase).tiles; }

static job plan(bool adjoint, const dg_conv_args *a)
{
    job j = {.N = a->N, .S = a->S, .P = a->P, .w = a->w, .adjoint = adjoint, .taps = a->K / a->S};
    int squares = a->S * a->S;
    if (adjoint) {
        j.in = a->y, j.Hi = a->Ho, j.Wi = a->Wo, j.Ci = a->Co;
        j.out = a->x, j.Ho = a->H, j.Wo = a->W, j.Co = a->Ci;
    } else {
        j.in = a->x, j.Hi = a->H, j.Wi = a->W, j.Ci = a->Ci;
        j.out = a->y, j.Ho = a->Ho, j.Wo = a->Wo, j.Co = a->Co;
    }
    j.segments = adjoint ? 1 : squares;
    j.phases = adjoint ? squares : 1;
    j.n = dg_winograd_points(j.taps);
    j.points = j.n * j.n;
    j.ci = dg_ceil_div(j.Ci, DG_LANES) * DG_LANES;
    j.terms = j.segments * j.ci;
    j.chain = j.n != 6 && j.terms <= SHORT_TERMS ? SUM_TERMS / 2 : SUM_TERMS;
    j.lda = dg_odd_lines((size_t)j.terms);
    j.NR = j.Co <= DG_LANES ? DG_LANES : 2 * DG_LANES;
    j.blocks = dg_ceil_div(j.Co, j.NR);
    j.stream = j.NR % DG_LINE == 0 &&
               dg_streams(j.out, (size_t)j.N * (size_t)j.Ho * (size_t)j.Wo * (size_t)j.Co, (size_t)j.Co);

    const int all = j.N * most_tiles(&j);
    j.few = all <= j.Co;
    const int most = j.few ? M_TILES : (int)(V_BYTES / (j.lda * (size_t)j.points * sizeof(real)));
    j.tiles = dg_min(dg_max(2, most / DG_MR), dg_ceil_div(all, DG_MR)) * DG_MR;
    j.pieces = dg_ceil_div(all, j.tiles);
    j.room = j.few ? dg_ceil_div(all, DG_MR) * DG_MR : j.tiles;
    j.u_step = dg_odd_lines((size_t)j.terms * (size_t)j.NR);
    j.v_step = dg_odd_lines((size_t)j.room * j.lda);
    j.m_step = dg_odd_lines((size_t)j.tiles * (size_t)j.NR);
    j.u_count = (size_t)j.points * j.u_step;
    j.v_count = (size_t)j.points * j.v_step;
    j.m_count = (size_t)j.points * j.m_step;
    j.team = dg_min(j.few ? j.phases * j.blocks : j.pieces * j.blocks, DG_TEAM);
    return j;
}

static void multiply(const job *j, const piece *p, const real *U, const real *V, real *M, int phase, int block)
{
    for (int f = 0; f < j->points; f++) {
        const real *v = V + (size_t)f * j->v_step, *u = U + (size_t)f * j->u_step;
        real *c = M + (size_t)f * j->m_step;
        for (int t = 0; t < p->count; t += DG_MR, v += DG_MR * j->lda, c += DG_MR * j->NR) {
            if (j->NR == DG_LANES) micro1(v, (ptrdiff_t)j->lda, u, c, j->terms, j->chain);
            else micro2(v, (ptrdiff_t)j->lda, u, c, j->terms, j->chain);
        }
    }
    DG_CPU(dg_winograd_outputs)(j, p, M, phase, block);
}

/* Returns piece i of a phase. Pieces past the last tile of the phase are empty. */
static piece piece_of(const job *j, int phase, int i)
{
    return (piece){i * j->tiles, dg_max(0, dg_min(j->tiles, phase_tiles(j, phase) - i * j->tiles))};
}

static void piece_by_all(const job *j, const real *U, real *V, real *M, int i, int b0, int b1)
{
    for (int phase = 0; phase < j->phases; phase++) {
        const piece p = piece_of(j, phase, i);
        DG_CPU(dg_winograd_inputs)(j, &p, V, phase);
        for (int block = b0; block < b1; block++)
            multiply(j, &p, U + (size_t)(phase * j->blocks + block) * j->u_count, V, M, phase, block);
    }
}

static void block_by_all(const job *j, real *U, const real *V, real *M, int phase, int block)
{
    DG_CPU(dg_winograd_weights)(j, U, phase, block);
    for (int i = 0; i < j->pieces; i++) {
        const piece p = piece_of(j, phase, i);
        multiply(j, &p, U, V + (size_t)phase * j->v_count + (size_t)p.first * j->lda, M, phase, block);
    }
}

static void image_inputs(const job *j, real *V, int phase, int n)
{
    const int tiles = dg_winograd_make_grid(j, phase).tiles;
    const piece p = {n * tiles, tiles};
    DG_CPU(dg_winograd_inputs)(j, &p, V + (size_t)phase * j->v_count + (size_t)p.first * j->lda, phase);
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

size_t DG_CPU(dg_conv_winograd)(dg_op_kind kind, const dg_conv_args *a, bool run)
{
    job j = plan(kind == DG_OP_conv_dx, a);
    real *Us, *Vs, *Ms;
    const size_t bytes = carve(&j, run ? a->scratch : NULL, &Us, &Vs, &Ms);
    if (!run) return bytes;
    memset(j.zeros, 0, (size_t)j.ci * sizeof(real));
    int team = dg_conv_team(a, j.team);
    int parts = team == 1 ? 1 : dg_max(1, dg_min(j.blocks, dg_ceil_div(2 * team, j.pieces)));
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
#pragma omp for collapse(2) schedule(dynamic, 1)
            for (int i = 0; i < j.pieces; i++)
                for (int part = 0; part < parts; part++)
                    piece_by_all(&j, Us, Vs + t * j.v_count, M, i, part * j.blocks / parts,
                                 (part + 1) * j.blocks / parts);
        }
        dg_streamed();
    }
    return bytes;
}
