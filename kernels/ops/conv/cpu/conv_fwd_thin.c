/* Direct forward convolution with few input channels, such as the first layer of a classifier or discriminator.
 *
 * With few channels per pixel, the packing of conv_direct.c would cost more than it saves. A tile has DG_MR adjacent
 * pixels of a row and one or two vectors of output channels. Input x is read directly or, if P > 0, from a copy with
 * zeros as padding. `place` lists the offsets of the inputs of one output. Rows outside of x are skipped. Terms are
 * added in the order of conv_direct.c, so the results are equal in every bit. */
#include "kernels/ops/conv/cpu/conv_pack.h"
#include "kernels/ops/conv/cpu/conv_internal.h"

#include <string.h>

enum { BAND_BYTES = 24 << 10, UNITS = 16 };

/* c[i][j] = sum over k < n of a[i*am + place[k]] * b[k*NV*DG_LANES + j] */
#define MICRO(name, NV)                                                                                             \
    static __attribute__((noinline)) void name(const real *a, ptrdiff_t am, const int *place, int n, const real *b, \
                                               real *c, ptrdiff_t ldc)                                              \
    {                                                                                                               \
        const real *row[DG_MR];                                                                                     \
        dg_vec acc[DG_MR][NV];                                                                                      \
        DG_UNROLL for (int i = 0; i < DG_MR; i++) row[i] = a + i * am;                                              \
        DG_UNROLL for (int i = 0; i < DG_MR; i++) DG_UNROLL for (int j = 0; j < (NV); j++) acc[i][j] = (dg_vec){0}; \
        for (int k = 0; k < n; k++, b += (NV)*DG_LANES) {                                                           \
            const ptrdiff_t at = place[k];                                                                          \
            dg_vec v[NV];                                                                                           \
            DG_UNROLL for (int j = 0; j < (NV); j++) v[j] = *(const dg_vec *)(b + j * DG_LANES);                    \
            DG_UNROLL for (int i = 0; i < DG_MR; i++) DG_UNROLL for (int j = 0; j < (NV); j++)                      \
                acc[i][j] += row[i][at] * v[j];                                                                     \
        }                                                                                                           \
        DG_UNROLL for (int i = 0; i < DG_MR; i++) DG_UNROLL for (int j = 0; j < (NV); j++) *                        \
            (dg_vec *)(c + i * ldc + j * DG_LANES) = acc[i][j];                                                     \
    }
MICRO(micro1, 1)
MICRO(micro2, 2)

typedef struct {
    const dg_conv_args *a;
    int NR, blocks;
    int rows, bands;
    int line;
    int place[DG_SUM_TERMS];
    size_t panel_count, x_count;
    int team;
} job;

/* True if an output has few enough terms for one chain of multiply-adds. A row of y must have at least DG_MR pixels. */
bool DG_CPU(dg_conv_fwd_is_thin)(const dg_conv_args *a)
{
    return (int64_t)a->K * a->K * a->Ci <= DG_SUM_TERMS && a->Wo >= DG_MR;
}

static job plan(const dg_conv_args *a)
{
    job j = {.a = a, .NR = a->Co <= DG_LANES ? DG_LANES : 2 * DG_LANES, .line = (a->W + 2 * a->P) * a->Ci};
    j.blocks = dg_ceil_div(a->Co, j.NR);
    for (int k = 0; k < a->K * a->K * a->Ci; k++) j.place[k] = k / (a->K * a->Ci) * j.line + k % (a->K * a->Ci);
    j.panel_count = (size_t)j.blocks * (size_t)(a->K * a->K * a->Ci) * (size_t)j.NR;
    j.rows = dg_min(dg_max(1, (BAND_BYTES / (int)sizeof(real) / j.line - a->K) / a->S + 1), a->Ho);
    while (j.rows > 1 && a->N * dg_ceil_div(a->Ho, j.rows) < UNITS) j.rows = (j.rows + 1) / 2;
    j.bands = dg_ceil_div(a->Ho, j.rows);
    if (a->P) j.x_count = (size_t)dg_min(a->H, (j.rows - 1) * a->S + a->K) * (size_t)j.line;
    j.team = (int)dg_min_size((size_t)a->N * (size_t)j.bands, DG_TEAM);
    return j;
}

/* Stores n channels of each pixel of a tile. `room` is the number of reals from `to` to the end of the tile's last
 * pixel. Whole vectors may overwrite channels of the next pixel, which is stored later. */
static void store(const job *j, real *to, const real *tile, int n, int room)
{
    for (int i = 0; i < DG_MR; i++, to += j->a->Co, tile += j->NR, room -= j->a->Co) {
        if (room < j->NR) memcpy(to, tile, (size_t)n * sizeof(real));
        else
            for (int k = 0; k < n; k += DG_LANES) *(dg_vec *)(to + k) = *(const dg_vec *)(tile + k);
    }
}

/* Computes one row of y. Each output sums n terms; rows outside of x have no terms. `x` and `panel` point to an
 * output's first term. The last block of channels is stored first, because it may overwrite other blocks. */
static void row_tiles(const job *j, const real *x, const real *panel, int n, real *y)
{
    const dg_conv_args *a = j->a;
    const ptrdiff_t step = (ptrdiff_t)a->S * a->Ci, block = (ptrdiff_t)a->K * a->K * a->Ci * j->NR;
    for (int b = j->blocks - 1; b >= 0; b--) {
        const int c0 = b * j->NR, channels = dg_min(j->NR, a->Co - c0);
        for (int done = 0; done < a->Wo; done += DG_MR) {
            const int ox = dg_min(done, a->Wo - DG_MR);
            real *to = y + (ptrdiff_t)ox * a->Co + c0, edge[DG_MR * 2 * DG_LANES];
            const bool whole = channels == j->NR;
            (j->NR == DG_LANES ? micro1 : micro2)(x + ox * step, step, j->place, n, panel + b * block,
                                                  whole ? to : edge, whole ? a->Co : j->NR);
            if (!whole) store(j, to, edge, channels, DG_MR * a->Co - c0);
        }
    }
}

static void unit(const job *j, const real *panel, real *copy, int n, int band)
{
    const dg_conv_args *a = j->a;
    const int o0 = band * j->rows, o1 = dg_min(o0 + j->rows, a->Ho);
    const int lo = dg_min(dg_max(o0 * a->S - a->P, 0), a->H);
    const int hi = dg_max(dg_min((o1 - 1) * a->S - a->P + a->K, a->H), lo);
    const real *x = (const real *)a->x + ((ptrdiff_t)n * a->H + lo) * j->line;
    if (a->P) dg_pad_rows(a, copy, n, lo, hi), x = copy;
    for (int oy = o0; oy < o1; oy++) {
        const int top = oy * a->S - a->P, first = dg_min(dg_max(top, lo), hi), last = dg_min(top + a->K, hi);
        const int terms = dg_max(last - first, 0) * a->K * a->Ci, skipped = (first - top) * a->K * a->Ci;
        row_tiles(j, x + (ptrdiff_t)(first - lo) * j->line, panel + (ptrdiff_t)(terms ? skipped : 0) * j->NR, terms,
                  (real *)a->y + ((ptrdiff_t)n * a->Ho + oy) * a->Wo * a->Co);
    }
}

static size_t carve(const job *j, void *scratch, real **panel, real **copies)
{
    dg_carver c = {(uintptr_t)scratch, 0};
    *panel = dg_carve(&c, (j->panel_count + DG_SQUARE) * sizeof(real));
    *copies = dg_carve(&c, (size_t)j->team * j->x_count * sizeof(real));
    return c.used;
}

size_t DG_CPU(dg_conv_fwd_thin)(const dg_conv_args *a, bool run)
{
    const job j = plan(a);
    const ptrdiff_t terms = (ptrdiff_t)a->K * a->K * a->Ci;
    real *panel, *copies;
    const size_t bytes = carve(&j, run ? a->scratch : NULL, &panel, &copies);
    if (!run) return bytes;
    for (int b = 0; b < j.blocks; b++)
        dg_interleave(panel + b * terms * j.NR, j.NR, (const real *)a->w + b * j.NR * terms, terms,
                      dg_min(j.NR, a->Co - b * j.NR), terms);
#pragma omp parallel for num_threads(dg_conv_team(a, j.team)) collapse(2) schedule(dynamic, 1)
    for (int n = 0; n < a->N; n++)
        for (int band = 0; band < j.bands; band++)
            unit(&j, panel, copies + (size_t)omp_get_thread_num() * j.x_count, n, band);
    return bytes;
}
