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
#include "conv_winograd.h"

#include <omp.h>
#include <string.h>

enum {
    V_BYTES = 512 << 10, /* V of a piece, in L2 beside M and a panel of U */
    M_TILES = 64         /* tiles of a piece in the second order: M is in L2, U streams past it */
};

/* a is MR rows of V, read at the same term. */
#define MICRO_ROWS(name, NV)                                                                                  \
    static __attribute__((noinline)) void name(const real *a, ptrdiff_t lda, const real *b, real *c, int n)   \
    {                                                                                                         \
        dg_vec acc[DG_MR][NV];                                                                                \
        const real *row[DG_MR];                                                                               \
        DG_UNROLL for (int i = 0; i < DG_MR; i++) row[i] = a + i * lda;                                       \
        DG_UNROLL for (int i = 0; i < DG_MR; i++)                                                             \
            DG_UNROLL for (int j = 0; j < (NV); j++) acc[i][j] = (dg_vec){0};                                 \
        for (ptrdiff_t k = 0; k < n; k++, b += (NV) * DG_LANES) {                                             \
            dg_vec v[NV];                                                                                     \
            DG_UNROLL for (int j = 0; j < (NV); j++) v[j] = *(const dg_vec *)(b + j * DG_LANES);              \
            DG_UNROLL for (int i = 0; i < DG_MR; i++)                                                         \
                DG_UNROLL for (int j = 0; j < (NV); j++) acc[i][j] += row[i][k] * v[j];                       \
        }                                                                                                     \
        DG_UNROLL for (int i = 0; i < DG_MR; i++)                                                             \
            DG_UNROLL for (int j = 0; j < (NV); j++)                                                          \
                *(dg_vec *)(c + (i * (NV) + j) * DG_LANES) = acc[i][j];                                       \
    }
MICRO_ROWS(micro2, 2)
MICRO_ROWS(micro1, 1)

typedef struct {
    int in_at, in_step, out_at, out_step, tiles;
} axis;

typedef struct {
    const real *in, *w;
    real *out, *zeros;
    int N, Hi, Wi, Ci, Ho, Wo, Co, S, P;
    bool adjoint;
    int m, points;           /* tile of outputs, (m+1)^2 */
    int segments, phases;    /* phases of the input, of the output */
    int ci;                  /* Ci in whole vectors */
    int terms;               /* segments * ci */
    int NR, blocks;
    bool few;                /* tiles: the second order */
    int images, rows;        /* of a piece: images, rows of tiles */
    int groups, bands;       /* pieces */
    int room;                /* tiles in V, whole groups of DG_MR */
    int team;
    size_t lda, u_step, v_step, m_step; /* reals between tiles of V; between frequencies */
    size_t u_count, v_count, m_count;   /* reals of U of one block and phase, of V of one phase, of M */
} job;

/* Axis of output phase p (backward) or input phase p (forward). */
static axis make_axis(const job *j, int p, int outputs)
{
    if (!j->adjoint) return (axis){p - j->P, j->S, 0, 1, dg_ceil_div(outputs, j->m)};
    int first = dg_ceil_div(dg_max(j->P - p, 0), j->S), end = (outputs - 1 + j->P - p) / j->S + 1;
    if (outputs - 1 + j->P - p < 0) end = first;
    return (axis){first - 1, 1, j->S * first + p - j->P, j->S, dg_ceil_div(dg_max(end - first, 0), j->m)};
}

static int most_tiles(const job *j, int outputs)
{
    int most = 1;
    for (int p = 0; p < (j->adjoint ? j->S : 1); p++) most = dg_max(most, make_axis(j, p, outputs).tiles);
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

/* ---- weights ---- */

/* The 2 x 2 taps g of DG_SQUARE channels to all frequencies: to[f * step]. */
DG_INLINE void transform_taps(const int m, const dg_square_row g[4], real *to, size_t step)
{
    dg_square_row column[2][DG_POINTS];
    dg_slim_taps(m, g[0], g[2], column[0]);
    dg_slim_taps(m, g[1], g[3], column[1]);
    DG_UNROLL for (int r = 0; r <= m; r++)
    {
        dg_square_row u[DG_POINTS];
        dg_slim_taps(m, column[0][r], column[1][r], u);
        DG_UNROLL for (int s = 0; s <= m; s++) *(dg_square_row *)(to + (size_t)(r * (m + 1) + s) * step) = u[s];
    }
}

static void taps(const job *j, const dg_square_row g[4], real *to, size_t step)
{
    if (j->m == 4)
        transform_taps(4, g, to, step);
    else
        transform_taps(2, g, to, step);
}

static dg_square_row load_some(const real *from, int n)
{
    real all[DG_SQUARE] = {0};
    if (n >= DG_SQUARE) return *(const dg_square_row *)from;
    for (int i = 0; i < n; i++) all[i] = from[i];
    return *(const dg_square_row *)all;
}

/* Forward: U of DG_SQUARE output channels co0.. and one input phase; vectors of w run over ci, those of U over co. */
static void weights_forward(const job *j, real *panel, int co0, int py, int px)
{
    int K = 2 * j->S, n = dg_min(DG_SQUARE, j->Co - co0);
    for (int c0 = 0; c0 < j->ci; c0 += DG_SQUARE) {
        dg_square_row all[4][DG_SQUARE];
        for (int t = 0; t < 4; t++) {
            for (int i = 0; i < DG_SQUARE; i++) {
                if (i >= n) {
                    all[t][i] = (dg_square_row){0};
                    continue;
                }
                ptrdiff_t tap = (ptrdiff_t)(t / 2 * j->S + py) * K + t % 2 * j->S + px;
                all[t][i] = load_some(j->w + ((ptrdiff_t)(co0 + i) * K * K + tap) * j->Ci + c0, j->Ci - c0);
            }
            dg_transpose(all[t]);
        }
        for (int k = 0; k < DG_SQUARE; k++) {
            dg_square_row g[4] = {all[0][k], all[1][k], all[2][k], all[3][k]};
            size_t term = (size_t)((py * j->S + px) * j->ci + c0 + k);
            taps(j, g, panel + term * (size_t)j->NR + co0 % j->NR, j->u_step);
        }
    }
}

/* Backward: U of one output phase and block; taps in falling order, vectors over the channels of x. */
static void weights_backward(const job *j, real *panel, int block, int py, int px)
{
    int K = 2 * j->S;
    for (int c = 0; c < j->ci; c++) {
        for (int i = 0; i < j->NR; i += DG_SQUARE) {
            int n0 = block * j->NR + i;
            dg_square_row g[4];
            for (int t = 0; t < 4; t++) {
                ptrdiff_t tap = (ptrdiff_t)((1 - t / 2) * j->S + py) * K + (1 - t % 2) * j->S + px;
                int n = c < j->Ci ? j->Co - n0 : 0;
                g[t] = n > 0 ? load_some(j->w + ((ptrdiff_t)c * K * K + tap) * j->Co + n0, n) : (dg_square_row){0};
            }
            taps(j, g, panel + (size_t)c * (size_t)j->NR + i, j->u_step);
        }
    }
}

/* U of one phase and block. */
static void weights(const job *j, real *U, int phase, int block)
{
    if (j->adjoint) {
        weights_backward(j, U, block, phase / j->S, phase % j->S);
        return;
    }
    for (int part = 0; part < j->NR / DG_SQUARE; part++)
        for (int p = 0; p < j->segments; p++)
            weights_forward(j, U, block * j->NR + part * DG_SQUARE, p / j->S, p % j->S);
}

/* ---- inputs ---- */

static __attribute__((noinline)) void input4(const real *const *from, int channels, real *to, size_t step)
{
    for (ptrdiff_t c = 0; c < channels; c += DG_LANES) dg_transform_input(4, from, c, to + c, step);
}

static __attribute__((noinline)) void input2(const real *const *from, int channels, real *to, size_t step)
{
    for (ptrdiff_t c = 0; c < channels; c += DG_LANES) dg_transform_input(2, from, c, to + c, step);
}

typedef struct {
    int n0, images, row0, rows; /* images and rows of tiles */
} piece;

/* One tile of one segment: pointers to its inputs, zeros outside. */
static void input_tile(const job *j, const real *image, int y0, int x0, int step, real *to)
{
    const real *from[DG_POINTS * DG_POINTS];
    int n = j->m + 1, whole = j->Ci / DG_LANES * DG_LANES, rest = j->Ci - whole;
    for (int r = 0; r < n; r++) {
        int iy = y0 + r * step;
        for (int s = 0; s < n; s++) {
            int ix = x0 + s * step;
            bool in = iy >= 0 && iy < j->Hi && ix >= 0 && ix < j->Wi;
            from[r * n + s] = in ? image + ((ptrdiff_t)iy * j->Wi + ix) * j->Ci : j->zeros;
        }
    }
    void (*transform)(const real *const *, int, real *, size_t) = j->m == 4 ? input4 : input2;
    transform(from, whole, to, j->v_step);
    if (!rest) return;
    real tail[DG_POINTS * DG_POINTS][DG_LANES] = {{0}};
    for (int i = 0; i < j->points; i++) {
        for (int k = 0; k < rest; k++) tail[i][k] = from[i][whole + k];
        from[i] = tail[i];
    }
    transform(from, DG_LANES, to + whole, j->v_step);
}

static void inputs(const job *j, const piece *p, real *V, int phase)
{
    for (int s = 0; s < j->segments; s++) {
        int which = j->adjoint ? phase : s;
        axis y = make_axis(j, which / j->S, j->Ho), x = make_axis(j, which % j->S, j->Wo);
        real *to = V + s * j->ci;
        for (int n = p->n0; n < p->n0 + p->images; n++) {
            const real *image = j->in + (ptrdiff_t)n * j->Hi * j->Wi * j->Ci;
            for (int ty = p->row0; ty < dg_min(p->row0 + p->rows, y.tiles); ty++)
                for (int tx = 0; tx < x.tiles; tx++, to += j->lda)
                    input_tile(j, image, y.in_step * j->m * ty + y.in_at, x.in_step * j->m * tx + x.in_at, y.in_step, to);
        }
    }
}

/* ---- outputs ---- */

/* One vector of channels: all frequencies of a tile to its m x m outputs. */
DG_INLINE void transform_output(const int m, const real *from, size_t step, dg_vec *out)
{
    dg_vec t[4][DG_POINTS];
    DG_UNROLL for (int s = 0; s <= m; s++)
    {
        dg_vec u[DG_POINTS], y[4];
        DG_UNROLL for (int r = 0; r <= m; r++) u[r] = *(const dg_vec *)(from + (size_t)(r * (m + 1) + s) * step);
        dg_wide_output(m, u, y);
        DG_UNROLL for (int i = 0; i < m; i++) t[i][s] = y[i];
    }
    DG_UNROLL for (int i = 0; i < m; i++) dg_wide_output(m, t[i], out + i * m);
}

/* A tile that lies inside, whole vectors. */
DG_INLINE void output_inside(const int m, const real *from, size_t step, real *to, ptrdiff_t row, ptrdiff_t pixel)
{
    dg_vec out[16];
    transform_output(m, from, step, out);
    DG_UNROLL for (int i = 0; i < m; i++)
        DG_UNROLL for (int k = 0; k < m; k++) *(dg_vec *)(to + i * row + k * pixel) = out[i * m + k];
}

static __attribute__((noinline)) void output4(const real *from, size_t step, real *to, ptrdiff_t row, ptrdiff_t pixel)
{
    output_inside(4, from, step, to, row, pixel);
}

static __attribute__((noinline)) void output2(const real *from, size_t step, real *to, ptrdiff_t row, ptrdiff_t pixel)
{
    output_inside(2, from, step, to, row, pixel);
}

/* Any tile: only what lies inside and exists. */
static __attribute__((noinline)) void output_clipped(const job *j, const real *from, real *to, ptrdiff_t row,
                                                     ptrdiff_t pixel, int high, int wide, int channels)
{
    dg_vec out[16];
    if (j->m == 4)
        transform_output(4, from, j->m_step, out);
    else
        transform_output(2, from, j->m_step, out);
    for (int i = 0; i < high; i++)
        for (int k = 0; k < wide; k++)
            memcpy(to + i * row + k * pixel, &out[i * j->m + k], (size_t)channels * sizeof(real));
}

static void outputs(const job *j, const piece *p, const real *M, int phase, int block)
{
    axis y = make_axis(j, j->adjoint ? phase / j->S : 0, j->Ho), x = make_axis(j, j->adjoint ? phase % j->S : 0, j->Wo);
    ptrdiff_t row = (ptrdiff_t)y.out_step * j->Wo * j->Co, pixel = (ptrdiff_t)x.out_step * j->Co;
    for (int n = p->n0; n < p->n0 + p->images; n++)
        for (int ty = p->row0; ty < dg_min(p->row0 + p->rows, y.tiles); ty++)
            for (int tx = 0; tx < x.tiles; tx++, M += j->NR) {
                int oy = y.out_step * j->m * ty + y.out_at, ox = x.out_step * j->m * tx + x.out_at;
                int high = dg_min(j->m, dg_ceil_div(j->Ho - oy, y.out_step));
                int wide = dg_min(j->m, dg_ceil_div(j->Wo - ox, x.out_step));
                for (int c = 0; c < j->NR; c += DG_LANES) {
                    int c0 = block * j->NR + c, channels = dg_min(DG_LANES, j->Co - c0);
                    if (channels <= 0) break;
                    real *to = j->out + (((ptrdiff_t)n * j->Ho + oy) * j->Wo + ox) * j->Co + c0;
                    if (high < j->m || wide < j->m || channels < DG_LANES)
                        output_clipped(j, M + c, to, row, pixel, high, wide, channels);
                    else if (j->m == 4)
                        output4(M + c, j->m_step, to, row, pixel);
                    else
                        output2(M + c, j->m_step, to, row, pixel);
                }
            }
}

/* ---- all together ---- */

/* Outputs of one piece, phase and block. V starts at the piece's first tile. */
static void multiply(const job *j, const piece *p, const real *U, const real *V, real *M, int phase, int block)
{
    axis y = make_axis(j, j->adjoint ? phase / j->S : 0, j->Ho), x = make_axis(j, j->adjoint ? phase % j->S : 0, j->Wo);
    int tiles = p->images * dg_max(0, dg_min(p->rows, y.tiles - p->row0)) * x.tiles;
    for (int f = 0; f < j->points; f++) {
        const real *v = V + (size_t)f * j->v_step, *u = U + (size_t)f * j->u_step;
        real *c = M + (size_t)f * j->m_step;
        for (int t = 0; t < tiles; t += DG_MR, v += DG_MR * j->lda, c += DG_MR * j->NR) {
            if (j->NR == DG_LANES)
                micro1(v, (ptrdiff_t)j->lda, u, c, j->terms);
            else
                micro2(v, (ptrdiff_t)j->lda, u, c, j->terms);
        }
    }
    outputs(j, p, M, phase, block);
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
        inputs(j, &p, V, phase);
        for (int block = b0; block < b1; block++)
            multiply(j, &p, U + (size_t)(phase * j->blocks + block) * j->u_count, V, M, phase, block);
    }
}

/* Second order, one block of one phase. */
static void block_by_all(const job *j, real *U, const real *V, real *M, int phase, int block)
{
    size_t image = (size_t)make_axis(j, phase / j->S, j->Ho).tiles * (size_t)make_axis(j, phase % j->S, j->Wo).tiles;
    weights(j, U, phase, block);
    for (int group = 0; group < j->groups; group++) {
        piece p = piece_of(j, group, 0);
        multiply(j, &p, U, V + (size_t)phase * j->v_count + (size_t)p.n0 * image * j->lda, M, phase, block);
    }
}

static void image_inputs(const job *j, real *V, int phase, int n)
{
    size_t image = (size_t)make_axis(j, phase / j->S, j->Ho).tiles * (size_t)make_axis(j, phase % j->S, j->Wo).tiles;
    piece p = {n, 1, 0, j->rows};
    inputs(j, &p, V + (size_t)phase * j->v_count + (size_t)n * image * j->lda, phase);
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
    int team = dg_min(j.team, omp_get_max_threads());
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
                    weights(&j, Us + (size_t)(phase * j.blocks + block) * j.u_count, phase, block);
#pragma omp for collapse(3) schedule(dynamic, 1)
            for (int group = 0; group < j.groups; group++)
                for (int band = 0; band < j.bands; band++)
                    for (int part = 0; part < parts; part++)
                        piece_by_all(&j, Us, Vs + t * j.v_count, M, piece_of(&j, group, band), part * j.blocks / parts,
                                     (part + 1) * j.blocks / parts);
        }
    }
}
