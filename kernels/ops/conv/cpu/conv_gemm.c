/* Convolutions that are one matrix product: dense layers (the kernel covers the map) and 1x1 kernels at stride 1. With
 * R rows (pixels of y), T terms (taps x channels of x) and Co channels of y, the products are:
 *   forward           y[R][Co] = x[R][T] w[Co][T]',
 *   data gradient     x[R][T]  = y[R][Co] w[Co][T],
 *   weight gradient   w[Co][T] = y[R][Co]' x[R][T].
 * Blocking as in Goto & van de Geijn 2008, "Anatomy of High-Performance Matrix Multiplication". The result is divided
 * into units of work. If the result is small, long sums are also divided into slices. For each CHAIN terms, a unit
 * packs a strip of the right matrix into L1. The strip is as wide as a tile. The unit then computes all tiles of this
 * strip. The left matrix is read directly if its terms are contiguous. Each unit packs its rows of a left matrix whose
 * terms are not contiguous. For wide dense layers, the left matrix is packed once for all units. Chains and slices
 * depend on the shape only and are added in order. */
#include "kernels/ops/conv/cpu/conv_internal.h"
#include "kernels/ops/conv/cpu/conv_pack.h"

#include <omp.h>
#include <string.h>

enum {
    CHAIN = DG_SUM_TERMS,
    ROWS = 256 / DG_MR * DG_MR,
    COLUMNS = 128,
    UNITS = 16,
    NR = 2 * DG_LANES,
    LOW = 4,
    FEW_TILES = 2,
    MANY_STRIPS = 8 /* min number of strips for which it is faster to pack the left matrix once for all units */
};

/* c[i][j] = sum of a[i*AM + k*AK] * b[k*bk + j] over k < n. Rows i >= `rows` read the last row of a. */
#define MICRO(name, MR, NV, AM, AK)                                                                                \
    static __attribute__((noinline)) void name(const real *a, ptrdiff_t am, int rows, const real *b, ptrdiff_t bk, \
                                               ptrdiff_t n, real *c, ptrdiff_t ldc, bool add)                      \
    {                                                                                                              \
        (void)am;                                                                                                  \
        const real *row[MR];                                                                                       \
        dg_vec acc[MR][NV];                                                                                        \
        DG_UNROLL for (int i = 0; i < (MR); i++) row[i] = a + (i < rows ? i : rows - 1) * (AM);                    \
        DG_UNROLL for (int i = 0; i < (MR); i++) DG_UNROLL for (int j = 0; j < (NV); j++) acc[i][j] = (dg_vec){0}; \
        for (ptrdiff_t k = 0; k < n; k++, b += bk) {                                                               \
            dg_vec v[NV];                                                                                          \
            DG_UNROLL for (int j = 0; j < (NV); j++) v[j] = *(const dg_vec *)(b + j * DG_LANES);                   \
            DG_UNROLL for (int i = 0; i < (MR); i++) DG_UNROLL for (int j = 0; j < (NV); j++)                      \
                acc[i][j] += row[i][k * (AK)] * v[j];                                                              \
        }                                                                                                          \
        DG_UNROLL for (int i = 0; i < (MR); i++) DG_UNROLL for (int j = 0; j < (NV); j++)                          \
        {                                                                                                          \
            dg_vec *to = (dg_vec *)(c + i * ldc + j * DG_LANES);                                                   \
            if (add) acc[i][j] += *to;                                                                             \
            *to = acc[i][j];                                                                                       \
        }                                                                                                          \
    }
typedef void micro(const real *a, ptrdiff_t am, int rows, const real *b, ptrdiff_t bk, ptrdiff_t n, real *c,
                   ptrdiff_t ldc, bool add);
MICRO(rows1, DG_MR, 1, am, 1)
MICRO(rows2, DG_MR, 2, am, 1)
MICRO(low1, LOW, 1, am, 1)
MICRO(low2, LOW, 2, am, 1)
MICRO(packed1, DG_MR, 1, 1, DG_MR)
MICRO(packed2, DG_MR, 2, 1, DG_MR)

typedef struct {
    /* Element (m, k) of matrix a is a[m*am + k*ak]. Element (k, n) of matrix b is b[k*bk + n*bn]. */
    const real *a, *b;
    real *c;
    ptrdiff_t M, N, K, am, ak, bk, bn;
    int height;
    ptrdiff_t rows, columns;
    ptrdiff_t row_units, column_units, slices, units;
    int team;
    ptrdiff_t packs;
    bool packed, shared;
    size_t pack_count;
    micro *one, *two;
} job;

static ptrdiff_t parts_of(ptrdiff_t n, ptrdiff_t part) { return (n + part - 1) / part; }

static void cut(job *j)
{
    j->rows = j->M < ROWS ? j->M : ROWS;
    j->row_units = parts_of(j->M, j->rows);
    for (j->columns = COLUMNS; j->columns > NR; j->columns /= 2)
        if (j->row_units * parts_of(j->N, j->columns) >= UNITS) break;
    if (j->columns < NR) j->columns = NR;
    j->column_units = parts_of(j->N, j->columns);
    const ptrdiff_t blocks = j->row_units * j->column_units, most = parts_of(j->K, 16 * CHAIN);
    j->slices = blocks >= UNITS ? 1 : parts_of(UNITS, blocks);
    if (j->slices > most) j->slices = most;
    j->units = blocks * j->slices;
    j->team = j->units < DG_TEAM ? (int)j->units : DG_TEAM;
}

static job plan(dg_op_kind kind, const dg_conv_args *a)
{
    const ptrdiff_t R = (ptrdiff_t)a->N * a->Ho * a->Wo, T = (ptrdiff_t)a->K * a->K * a->Ci, Co = a->Co;
    job j;
    if (kind == DG_OP_conv_fwd)
        j = (job){.a = a->x, .b = a->w, .c = a->y, .M = R, .N = Co, .K = T, .am = T, .ak = 1, .bk = 1, .bn = T};
    else if (kind == DG_OP_conv_dx)
        j = (job){.a = a->y, .b = a->w, .c = a->x, .M = R, .N = T, .K = Co, .am = Co, .ak = 1, .bk = T, .bn = 1};
    else j = (job){.a = a->y, .b = a->x, .c = a->w, .M = Co, .N = T, .K = R, .am = 1, .ak = Co, .bk = T, .bn = 1};
    const bool in_rows = kind != DG_OP_conv_dw, low = in_rows && (j.M <= LOW || (j.M > DG_MR && j.M <= 2 * LOW));
    j.height = low ? LOW : DG_MR;
    cut(&j);
    j.shared = !low && a->Ho * a->Wo == 1 && j.N >= MANY_STRIPS * NR;
    j.packed = !in_rows || j.shared;
    j.one = low ? low1 : j.packed ? packed1 : rows1;
    j.two = low ? low2 : j.packed ? packed2 : rows2;
    if (j.packed) j.pack_count = (size_t)(parts_of(j.rows, DG_MR) * DG_MR * CHAIN + DG_SQUARE);
    j.packs = j.shared ? j.row_units * parts_of(j.K, CHAIN) : j.team;
    return j;
}

/* Packs n terms, from k0 on, of rows m0 .. m1 - 1 of a. Layout: [tile of DG_MR rows][term][row]. */
static void pack_rows(const job *j, real *restrict to, ptrdiff_t m0, ptrdiff_t m1, ptrdiff_t k0, ptrdiff_t n)
{
    for (ptrdiff_t m = m0; m < m1; m += DG_MR) {
        const real *from = j->a + m * j->am + k0 * j->ak;
        const int rows = m1 - m < DG_MR ? (int)(m1 - m) : DG_MR;
        if (j->ak == 1) {
            dg_interleave(to, DG_MR, from, j->am, rows, n);
            to += n * DG_MR;
            continue;
        }
        for (ptrdiff_t k = 0; k < n; k++, from += j->ak, to += DG_MR) dg_pack_tile(to, from, rows);
    }
}

/* Prefetches n terms of the next strip of b, because the stride of these terms is too large for the hardware
 * prefetcher. */
static void fetch_strip(const job *j, const real *from, ptrdiff_t n)
{
    const bool in_rows = j->bk == 1;
    const ptrdiff_t rows = in_rows ? NR : n, row = in_rows ? j->bn : j->bk, reals = in_rows ? n : NR;
    for (ptrdiff_t r = 0; r < rows; r++, from += row)
        for (ptrdiff_t i = 0; i < reals; i += 64 / (ptrdiff_t)sizeof(real)) __builtin_prefetch(from + i, 0, 2);
}

/* Packs a strip of b: n terms of `columns` reals each, padded to `width` reals. */
static void pack_strip(const job *j, real *restrict to, ptrdiff_t n0, int columns, int width, ptrdiff_t k0, ptrdiff_t n)
{
    const real *from = j->b + k0 * j->bk + n0 * j->bn;
    if (n0 + 2 * NR <= j->N) fetch_strip(j, from + NR * j->bn, n);
    if (j->bk == 1) {
        dg_interleave(to, width, from, j->bn, columns, n);
        return;
    }
    for (ptrdiff_t k = 0; k < n; k++, from += j->bk, to += width) dg_pack_vectors(to, from, columns, width);
}

typedef struct {
    const real *a, *b;
    ptrdiff_t tile;
    ptrdiff_t bk, n;
    int columns, width;
    bool add;
} strip;

static void tiles(const job *j, const strip *s, real *c, ptrdiff_t m0, ptrdiff_t m1)
{
    micro *product = s->width == DG_LANES ? j->one : j->two;
    const real *a = s->a;
    c += m0 * j->N;
    for (ptrdiff_t m = m0; m < m1; m += j->height, a += s->tile, c += j->height * j->N) {
        const int rows = m1 - m < j->height ? (int)(m1 - m) : j->height;
        if (rows == j->height && s->columns == s->width) {
            product(a, j->am, rows, s->b, s->bk, s->n, c, j->N, s->add);
            continue;
        }
        real edge[DG_MR * NR];
        product(a, j->am, rows, s->b, s->bk, s->n, edge, s->width, false);
        for (int i = 0; i < rows; i++)
            for (int k = 0; k < s->columns; k++)
                c[i * j->N + k] = s->add ? edge[i * s->width + k] + c[i * j->N + k] : edge[i * s->width + k];
    }
}

static void unit(const job *j, real *copies, real *pack, ptrdiff_t u)
{
    const ptrdiff_t slice = u % j->slices, column = u / j->slices % j->column_units;
    const ptrdiff_t m0 = u / j->slices / j->column_units * j->rows, n0 = column * j->columns;
    const ptrdiff_t m1 = j->M - m0 < j->rows ? j->M : m0 + j->rows,
                    n1 = j->N - n0 < j->columns ? j->N : n0 + j->columns;
    const ptrdiff_t chains = parts_of(j->K, CHAIN), k0 = chains * slice / j->slices * CHAIN,
                    end = chains * (slice + 1) / j->slices * CHAIN, k1 = end < j->K ? end : j->K;
    const bool few = j->bn == 1 && m1 - m0 <= FEW_TILES * j->height;
    real *c = j->slices > 1 ? copies + slice * j->M * j->N : j->c;
    real b[CHAIN * NR] __attribute__((aligned(64)));
    for (ptrdiff_t k = k0; k < k1; k += CHAIN) {
        strip s = {.a = j->a + m0 * j->am + k * j->ak, .tile = j->height * j->am, .add = k > k0};
        s.n = k1 - k < CHAIN ? k1 - k : CHAIN;
        if (j->packed) {
            real *part = pack;
            if (j->shared) part += (size_t)(m0 / j->rows * parts_of(j->K, CHAIN) + k / CHAIN) * j->pack_count;
            else pack_rows(j, part, m0, m1, k, s.n);
            s.a = part, s.tile = DG_MR * s.n;
        }
        for (ptrdiff_t n = n0; n < n1; n += NR) {
            s.columns = n1 - n < NR ? (int)(n1 - n) : NR;
            s.width = s.columns <= DG_LANES ? DG_LANES : NR;
            const bool in_place = few && s.columns == s.width;
            s.b = in_place ? j->b + k * j->bk + n : b;
            s.bk = in_place ? j->bk : s.width;
            if (!in_place) pack_strip(j, b, n, s.columns, s.width, k, s.n);
            tiles(j, &s, c + n, m0, m1);
        }
    }
}

static size_t carve(const job *j, void *scratch, real **copies, real **packs)
{
    dg_carver c = {(uintptr_t)scratch, 0};
    *copies = dg_carve(&c, j->slices > 1 ? (size_t)j->slices * (size_t)(j->M * j->N) * sizeof(real) : 0);
    *packs = dg_carve(&c, (size_t)j->packs * j->pack_count * sizeof(real));
    return c.used;
}

bool DG_CPU(dg_conv_gemm_takes)(const dg_conv_args *a)
{
    const bool dense = a->K == a->H && a->K == a->W, pixel = a->K == 1 && a->S == 1;
    return a->P == 0 && (dense || pixel);
}

size_t DG_CPU(dg_conv_gemm)(dg_op_kind kind, const dg_conv_args *a, bool run)
{
    if (DG_CPU(dg_conv_is_dense)(kind, a)) {
        if (run) DG_CPU(dg_conv_dense)(a);
        return 0;
    }
    const job j = plan(kind, a);
    real *copies, *packs;
    const size_t bytes = carve(&j, run ? a->scratch : NULL, &copies, &packs);
    if (!run) return bytes;
#pragma omp parallel num_threads(dg_conv_team(a, j.team))
    {
        real *pack = packs + (j.shared ? 0 : (size_t)omp_get_thread_num() * j.pack_count);
        if (j.shared) {
#pragma omp for schedule(static)
            for (ptrdiff_t p = 0; p < j.packs; p++) {
                const ptrdiff_t chains = parts_of(j.K, CHAIN), m0 = p / chains * j.rows, k = p % chains * CHAIN;
                pack_rows(&j, packs + (size_t)p * j.pack_count, m0, j.M - m0 < j.rows ? j.M : m0 + j.rows, k,
                          j.K - k < CHAIN ? j.K - k : CHAIN);
            }
        }
#pragma omp for schedule(dynamic, 1)
        for (ptrdiff_t u = 0; u < j.units; u++) unit(&j, copies, pack, u);
        if (j.slices > 1) {
#pragma omp for schedule(static)
            for (ptrdiff_t m = 0; m < j.M; m++) {
                real *restrict c = j.c + m * j.N;
                memcpy(c, copies + m * j.N, (size_t)j.N * sizeof(real));
                for (ptrdiff_t s = 1; s < j.slices; s++) {
                    const real *more = copies + (s * j.M + m) * j.N;
                    for (ptrdiff_t n = 0; n < j.N; n++) c[n] += more[n];
                }
            }
        }
    }
    return bytes;
}
