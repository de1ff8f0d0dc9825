/* Direct weight gradient: w[co,ky,kx,ci] = sum over n,oy,ox of x[n, oy*S-P+ky, ox*S-P+kx, ci] * y[n,oy,ox,co].
 *
 * A tile is DG_MR output channels by one or two vectors of input channels, for one tap. A piece is a band of output
 * rows of a few images, which fits into L2. For each piece, y is packed as [block of co][oy][ox][image][DG_MR] and x
 * as [iy][ix mod S][ix div S][image][NR]. Columns with equal ix mod S are adjacent, so a tap's reads are contiguous
 * for any stride.
 *
 * Threads divide the work by blocks of channels and by slices, which are ranges of pieces. Each slice computes its own
 * copy of the weight gradient. The copies are added in order. The number of slices depends on shapes only. */
#include "kernels/ops/conv/cpu/conv_pack.h"
#include "kernels/ops/conv/cpu/conv_internal.h"

#include <omp.h>
#include <string.h>

enum { X_BYTES = 192 << 10, UNITS = 16, CO_UNIT = 128 };

DG_MICRO(micro2, DG_MR, 2, DG_MR, 2 * DG_LANES)
DG_MICRO(micro1, DG_MR, 1, DG_MR, DG_LANES)

typedef struct {
    const dg_conv_args *a;
    int NR, ci_blocks;
    int co_blocks, co_unit;
    int co_units;
    int images, rows;
    int groups, bands;
    int slices, units, team;
    int height, columns;
    size_t x_count, y_count;
    size_t copy_count;
} job;

static job plan(const dg_conv_args *a)
{
    job j = {.a = a};
    j.NR = a->Ci <= DG_LANES ? DG_LANES : 2 * DG_LANES;
    j.ci_blocks = dg_ceil_div(a->Ci, j.NR);
    j.co_blocks = dg_ceil_div(a->Co, DG_MR);
    j.co_unit = dg_min(j.co_blocks, dg_ceil_div(CO_UNIT, DG_MR));
    j.co_units = dg_ceil_div(j.co_blocks, j.co_unit);

    j.columns = dg_ceil_div(a->W, a->S);
    size_t row = (size_t)j.columns * (size_t)a->S * (size_t)j.NR * sizeof(real);
    j.rows = a->Ho;
    while (j.rows > 1 && (size_t)dg_min(a->H, (j.rows - 1) * a->S + a->K) * row > X_BYTES) j.rows = (j.rows + 1) / 2;
    j.bands = dg_ceil_div(a->Ho, j.rows);
    j.height = dg_min(a->H, (j.rows - 1) * a->S + a->K);
    j.images = (int)(X_BYTES / (row * (size_t)j.height));
    j.images = dg_max(1, dg_min(j.images, a->N));
    j.groups = dg_ceil_div(a->N, j.images);
    j.x_count = (size_t)j.height * (size_t)j.columns * (size_t)a->S * (size_t)j.images * (size_t)j.NR;
    j.y_count = (size_t)j.co_unit * (size_t)j.rows * (size_t)a->Wo * (size_t)j.images * DG_MR;

    j.slices = dg_max(1, dg_min(dg_ceil_div(UNITS, j.ci_blocks * j.co_units), j.groups * j.bands));
    j.units = j.slices * j.ci_blocks * j.co_units;
    j.team = dg_min(j.units, DG_TEAM);
    j.copy_count = (size_t)a->K * (size_t)a->K * (size_t)j.ci_blocks * (size_t)j.co_blocks * DG_MR * (size_t)j.NR;
    return j;
}

typedef struct {
    int n0, images;
    int o0, o1, lo, hi;
} piece;

static piece piece_of(const job *j, int p)
{
    const dg_conv_args *a = j->a;
    piece c;
    c.n0 = p / j->bands * j->images;
    c.images = dg_min(j->images, a->N - c.n0);
    c.o0 = p % j->bands * j->rows;
    c.o1 = dg_min(c.o0 + j->rows, a->Ho);
    c.lo = dg_min(dg_max(c.o0 * a->S - a->P, 0), a->H);
    c.hi = dg_max(dg_min((c.o1 - 1) * a->S - a->P + a->K, a->H), c.lo);
    return c;
}

static void pack_x(const job *j, const piece *c, real *restrict to, int block)
{
    const dg_conv_args *a = j->a;
    const real *x = a->x;
    int c0 = block * j->NR, n = dg_min(j->NR, a->Ci - c0);
    for (int iy = c->lo; iy < c->hi; iy++)
        for (int phase = 0; phase < a->S; phase++)
            for (int q = 0; q < j->columns; q++)
                for (int i = 0; i < c->images; i++, to += j->NR) {
                    int ix = q * a->S + phase;
                    if (ix >= a->W) continue;
                    const real *from = x + (((ptrdiff_t)(c->n0 + i) * a->H + iy) * a->W + ix) * a->Ci + c0;
                    dg_pack_vectors(to, from, n, j->NR);
                }
}

static void pack_y(const job *j, const piece *c, real *restrict to, int first, int blocks)
{
    const dg_conv_args *a = j->a;
    const real *y = a->y;
    for (int b = first; b < first + blocks; b++) {
        int n = dg_min(DG_MR, a->Co - b * DG_MR);
        for (int oy = c->o0; oy < c->o1; oy++)
            for (int ox = 0; ox < a->Wo; ox++)
                for (int i = 0; i < c->images; i++, to += DG_MR) {
                    const real *from = y + (((ptrdiff_t)(c->n0 + i) * a->Ho + oy) * a->Wo + ox) * a->Co + b * DG_MR;
                    dg_pack_tile(to, from, n);
                }
    }
}

/* Finds the range [*first, *last) of outputs along an axis for which tap k reads inside of the input. */
static void tap_range(const dg_conv_args *a, int k, int outputs, int inputs, int *first, int *last)
{
    *first = k < a->P ? dg_ceil_div(a->P - k, a->S) : 0;
    int end = inputs - 1 + a->P - k;
    *last = end < 0 ? 0 : dg_min(end / a->S + 1, outputs);
    if (*last < *first) *last = *first;
}

enum { RUNS = 32 };

/* Adds the products of a piece for tap (ky, kx) to `copy`, [blocks of co][DG_MR][NR]. If `add` is 0, overwrites
 * `copy`. */
static void tap_tiles(const job *j, const piece *c, const real *x, const real *y, real *copy, int blocks, int ky,
                      int kx, int add)
{
    const dg_conv_args *a = j->a;
    int y0, y1, x0, x1;
    tap_range(a, ky, a->Ho, a->H, &y0, &y1);
    tap_range(a, kx, a->Wo, a->W, &x0, &x1);
    y0 = dg_max(y0, c->o0);
    y1 = dg_min(y1, c->o1);
    if (x0 == x1) y1 = y0;
    dg_micro *micro = j->NR == DG_LANES ? micro1 : micro2;
    size_t y_block = (size_t)(c->o1 - c->o0) * (size_t)a->Wo * (size_t)c->images * DG_MR;
    int oy = y0;
    do {
        dg_span run[RUNS];
        int n = 0;
        for (; oy < y1 && n < RUNS; oy++, n++) {
            int iy = oy * a->S - a->P + ky - c->lo, ix = x0 * a->S - a->P + kx;
            size_t line = (size_t)(iy * a->S + ix % a->S), column = line * (size_t)j->columns + (size_t)(ix / a->S);
            run[n].b = x + column * (size_t)c->images * (size_t)j->NR;
            run[n].a = y + ((size_t)(oy - c->o0) * (size_t)a->Wo + (size_t)x0) * (size_t)c->images * DG_MR;
            run[n].n = (ptrdiff_t)(x1 - x0) * c->images;
        }
        if (!n && add) return;
        for (int b = 0; b < blocks; b++) {
            dg_micro_sum(micro, run, n, copy + (ptrdiff_t)b * DG_MR * j->NR, j->NR, add, DG_MR, j->NR);
            for (int r = 0; r < n; r++) run[r].a += y_block;
        }
        add = 1;
    } while (oy < y1);
}

/* The layout of `copies` is [slice][block of ci][ky][kx][block of co][DG_MR][NR]. */
static real *tap_copy(const job *j, real *copies, int slice, int block, int tap, int co_block)
{
    size_t at = (((size_t)block * (size_t)(j->a->K * j->a->K) + (size_t)tap) * (size_t)j->co_blocks + (size_t)co_block);
    return copies + (size_t)slice * j->copy_count + at * DG_MR * (size_t)j->NR;
}

static void unit(const job *j, real *copies, real *x, real *y, int u)
{
    int co_unit = u % j->co_units, block = u / j->co_units % j->ci_blocks, slice = u / j->co_units / j->ci_blocks;
    int first = co_unit * j->co_unit, blocks = dg_min(j->co_unit, j->co_blocks - first);
    int pieces = j->groups * j->bands;
    int p0 = (int)((long)pieces * slice / j->slices), p1 = (int)((long)pieces * (slice + 1) / j->slices);
    for (int p = p0; p < p1; p++) {
        piece c = piece_of(j, p);
        pack_x(j, &c, x, block);
        pack_y(j, &c, y, first, blocks);
        for (int tap = 0; tap < j->a->K * j->a->K; tap++)
            tap_tiles(j, &c, x, y, tap_copy(j, copies, slice, block, tap, first), blocks, tap / j->a->K, tap % j->a->K,
                      p > p0);
    }
}

static void finish(const job *j, real *copies, int tap, int co_block)
{
    const dg_conv_args *a = j->a;
    real *w = a->w;
    int co0 = co_block * DG_MR, rows = dg_min(DG_MR, a->Co - co0);
    for (int block = 0; block < j->ci_blocks; block++) {
        int c0 = block * j->NR, n = dg_min(j->NR, a->Ci - c0);
        real *sum = tap_copy(j, copies, 0, block, tap, co_block);
        for (int s = 1; s < j->slices; s++) {
            const real *more = tap_copy(j, copies, s, block, tap, co_block);
            for (int i = 0; i < rows * j->NR; i++) sum[i] += more[i];
        }
        for (int i = 0; i < rows; i++)
            memcpy(w + ((ptrdiff_t)(co0 + i) * a->K * a->K + tap) * a->Ci + c0, sum + i * j->NR,
                   (size_t)n * sizeof(real));
    }
}

static size_t carve(const job *j, void *scratch, real **copies, real **xs, real **ys)
{
    dg_carver c = {(uintptr_t)scratch, 0};
    *copies = dg_carve(&c, (size_t)j->slices * j->copy_count * sizeof(real));
    *xs = dg_carve(&c, (size_t)j->team * j->x_count * sizeof(real));
    *ys = dg_carve(&c, (size_t)j->team * j->y_count * sizeof(real));
    return c.used;
}

size_t DG_CPU(dg_conv_dw_direct)(const dg_conv_args *a, bool run)
{
    if (DG_CPU(dg_conv_dw_is_thin)(a)) return DG_CPU(dg_conv_dw_thin)(a, run);
    job j = plan(a);
    real *copies, *xs, *ys;
    const size_t bytes = carve(&j, run ? a->scratch : NULL, &copies, &xs, &ys);
    if (!run) return bytes;
#pragma omp parallel num_threads(dg_conv_team(a, j.team))
    {
        real *x = xs + (size_t)omp_get_thread_num() * j.x_count, *y = ys + (size_t)omp_get_thread_num() * j.y_count;
#pragma omp for schedule(dynamic, 1)
        for (int u = 0; u < j.units; u++) unit(&j, copies, x, y, u);
#pragma omp for collapse(2) schedule(static)
        for (int tap = 0; tap < a->K * a->K; tap++)
            for (int b = 0; b < j.co_blocks; b++) finish(&j, copies, tap, b);
    }
    return bytes;
}
