/* Winograd weight gradient (conv_winograd.h), for K = 2S, or K = 3 and S = 1.
 *   V[phase][frequency][tile][channel]: transformed x of a block of input channels, for all px and one py.
 *   Z[frequency][tile][channel]: transformed y of CHUNK output channels.
 * Products V * Z are summed over the tiles of a piece: a few images, or a band of an image. With two taps, the sums of
 * DG_MR rows of w stay in L1 until they are transformed and added to a copy of w. With three taps, a copy of w stores
 * sums per frequency, which are transformed to taps at the end. Blocks of input channels are wide, because each block
 * transforms all of y.
 *
 * A unit of work is a block of input channels, a row of phases, and a slice (a range of pieces). Each slice has its own
 * copy of w; the copies are added in order. */
#include "kernels/ops/conv/cpu/conv_winograd.h"

#include <omp.h>
#include <string.h>

enum {
    TILES = 64 * 25,
    UNITS = 16,
    WIDE = 128,
    CHAIN = 32,
    COPIES_BYTES = 64 << 20,
    CHUNK = DG_MR == 6 ? 72 : 64 /* output channels in Z */
};
_Static_assert(CHUNK % DG_MR == 0 && CHUNK % DG_LANES == 0, "CHUNK must be a multiple of DG_MR and of DG_LANES");

DG_MICRO(micro2, DG_MR, 2, ak, 2 * DG_LANES)
DG_MICRO(micro1, DG_MR, 1, ak, DG_LANES)
DG_MICRO(wide2, DG_MR, 2, ak, bk)
DG_MICRO(wide1, DG_MR, 1, ak, bk)

typedef struct {
    const dg_conv_args *a;
    int n, points, taps;
    int rows_of_w;
    int NR, wide, blocks;
    int chunk, chunks;
    int down, across;
    int images, rows, groups, bands;
    int slices, units, team;
    size_t v_step, z_step, ldv, ldz; /* reals per frequency (v_step, z_step) and per tile (ldv, ldz) */
    size_t ldw, copy_count;
    real *zeros, *copies;
} job;

/* For three taps, chooses as many slices as COPIES_BYTES allows. Then chooses the widest blocks that leave about UNITS
 * units of work. */
static void plan_frequencies(job *j, int pieces)
{
    const int tiles = dg_ceil_div(j->a->Ci, j->NR);
    const size_t copy = (size_t)j->points * (size_t)j->rows_of_w * (size_t)(tiles * j->NR) * sizeof(real);
    j->slices = dg_max(1, dg_min(dg_min(UNITS, pieces), (int)(COPIES_BYTES / copy)));
    j->wide = dg_max(1, dg_min(WIDE / j->NR, tiles / dg_ceil_div(UNITS, j->slices))) * j->NR;
    j->blocks = dg_ceil_div(tiles * j->NR, j->wide);
}

static job plan(const dg_conv_args *a)
{
    job j = {.a = a, .taps = a->K / a->S};
    j.n = dg_winograd_points(j.taps);
    j.points = j.n * j.n;
    j.NR = a->Ci <= DG_LANES ? DG_LANES : 2 * DG_LANES;
    j.chunk = dg_min(CHUNK, dg_ceil_div(a->Co, DG_LANES) * DG_LANES);
    j.chunks = dg_ceil_div(a->Co, j.chunk);
    j.rows_of_w = dg_ceil_div(a->Co, DG_MR) * DG_MR;
    j.down = dg_ceil_div(a->Ho, DG_TILE);
    j.across = dg_ceil_div(a->Wo, DG_TILE);
    int tiles = TILES / j.points;
    j.rows = dg_max(1, dg_min(j.down, tiles / j.across));
    j.bands = dg_ceil_div(j.down, j.rows);
    j.images = dg_max(1, dg_min(a->N, tiles / (j.across * j.rows)));
    j.groups = dg_ceil_div(a->N, j.images);
    if (j.taps == 3) {
        plan_frequencies(&j, j.groups * j.bands);
    } else {
        j.wide = j.NR;
        j.blocks = dg_ceil_div(a->Ci, j.NR);
        j.slices = dg_max(1, dg_min(dg_ceil_div(UNITS, j.blocks * a->S), j.groups * j.bands));
    }
    size_t room = (size_t)j.images * (size_t)j.rows * (size_t)j.across;
    j.ldz = dg_odd_lines((size_t)j.chunk + DG_MR);
    j.ldv = j.wide == j.NR ? (size_t)j.NR : dg_odd_lines((size_t)j.wide);
    j.z_step = dg_odd_lines(room * j.ldz);
    j.v_step = dg_odd_lines(room * j.ldv);
    j.units = j.slices * j.blocks * a->S;
    j.team = dg_min(j.units, DG_TEAM);
    j.ldw = (size_t)j.blocks * (size_t)j.wide;
    j.copy_count = (j.taps == 3 ? (size_t)j.points * (size_t)j.rows_of_w : (size_t)a->Co * 4 * (size_t)(a->S * a->S)) *
                   j.ldw;
    return j;
}

typedef struct {
    int n0, images, row0, rows;
} piece;

static piece piece_of(const job *j, int p)
{
    piece c = {p / j->bands * j->images, 0, p % j->bands * j->rows, 0};
    c.images = dg_min(j->images, j->a->N - c.n0);
    c.rows = dg_min(j->rows, j->down - c.row0);
    return c;
}

DG_INLINE void transform_back(const int n, const real *const *from, ptrdiff_t c, real *to, size_t step)
{
    dg_vec t[4][DG_POINTS];
    DG_UNROLL for (int i = 0; i < DG_TILE; i++)
    {
        dg_vec y[4];
        DG_UNROLL for (int k = 0; k < DG_TILE; k++) y[k] = *(const dg_vec *)(from[i * DG_TILE + k] + c);
        dg_wide_outputs_back(n, y, t[i]);
    }
    DG_UNROLL for (int s = 0; s < n; s++)
    {
        dg_vec y[4], z[DG_POINTS];
        DG_UNROLL for (int i = 0; i < DG_TILE; i++) y[i] = t[i][s];
        dg_wide_outputs_back(n, y, z);
        DG_UNROLL for (int r = 0; r < n; r++) * (dg_vec *)(to + (size_t)(r * n + s) * step) = z[r];
    }
}

DG_BY_VECTORS(back, transform_back, 5)
DG_BY_VECTORS(back, transform_back, 6)

static void transform_x(const job *j, const piece *p, real *V, int block, int py)
{
    const dg_conv_args *a = j->a;
    int c0 = block * j->wide;
    ptrdiff_t size = (ptrdiff_t)a->H * a->W * a->Ci, share = size / (j->down * j->across + 1);
    const real *end = (const real *)a->x + a->N * size;
    for (int i = p->n0; i < p->n0 + p->images; i++) {
        const real *image = (const real *)a->x + i * size;
        const dg_winograd_image im = {image + c0, j->zeros, a->H, a->W, a->Ci};
        for (int t = 0; t < p->rows * j->across; t++, V += j->ldv) {
            int ty = p->row0 + t / j->across, tx = t % j->across, y0 = ty * DG_TILE * a->S + py - a->P;
            if (j->blocks == 1) dg_fetch(image + (ptrdiff_t)((ty + 1) * j->across + tx) * share, share, end);
            for (int px = 0; px < a->S; px++) {
                int x0 = tx * DG_TILE * a->S + px - a->P;
                DG_CPU(dg_winograd_input)
                (&im, j->n, y0, x0, a->S, dg_min(j->wide, a->Ci - c0), V + (size_t)(px * j->points) * j->v_step,
                 j->v_step);
            }
        }
    }
}

static void transform_y(const job *j, const piece *p, real *Z, int chunk)
{
    const dg_conv_args *a = j->a;
    int c0 = chunk * j->chunk;
    ptrdiff_t size = (ptrdiff_t)a->Ho * a->Wo * a->Co, share = size / (j->down * j->across);
    const real *end = (const real *)a->y + a->N * size;
    for (int i = p->n0; i < p->n0 + p->images; i++) {
        const real *image = (const real *)a->y + i * size + c0;
        for (int t = 0; t < p->rows * j->across; t++, Z += j->ldz) {
            if (j->chunks == 1) dg_fetch(image + (p->row0 * j->across + t + j->across) * share, share, end);
            int y0 = (p->row0 + t / j->across) * DG_TILE, x0 = t % j->across * DG_TILE;
            const real *from[16];
            for (int r = 0; r < DG_TILE; r++)
                for (int s = 0; s < DG_TILE; s++) {
                    bool in = y0 + r < a->Ho && x0 + s < a->Wo;
                    from[r * DG_TILE + s] = in ? image + ((ptrdiff_t)(y0 + r) * a->Wo + x0 + s) * a->Co : j->zeros;
                }
            dg_whole_and_rest(j->n == 6 ? back6 : back5, from, DG_TILE * DG_TILE, dg_min(j->chunk, a->Co - c0), Z,
                              j->z_step);
        }
    }
}

DG_INLINE void transform_taps(const int n, const real *M, size_t step, dg_vec *g)
{
    const int r = DG_TAPS_OF(n);
    dg_vec t[DG_TAPS][DG_POINTS];
    DG_UNROLL for (int s = 0; s < n; s++)
    {
        dg_vec u[DG_POINTS], column[DG_TAPS];
        DG_UNROLL for (int i = 0; i < n; i++) u[i] = *(const dg_vec *)(M + (size_t)(i * n + s) * step);
        dg_wide_taps_back(n, u, column);
        DG_UNROLL for (int p = 0; p < r; p++) t[p][s] = column[p];
    }
    DG_UNROLL for (int p = 0; p < r; p++) dg_wide_taps_back(n, t[p], g + p * r);
}

enum { M_STEP = DG_MR * 2 * DG_LANES + 64 / (int)sizeof(real) };

/* Transforms M to the taps of phase (py, px) and `rows` output channels. Layout of `copy`: [co][ky][kx][ci]. If `add`
 * is set, adds the taps to `copy`. */
static __attribute__((noinline)) void add_taps(const job *j, const real *M, real *copy, int rows, int py, int px,
                                               int add)
{
    int S = j->a->S, K = 2 * S;
    for (int i = 0; i < rows; i++)
        for (int c = 0; c < j->NR; c += DG_LANES) {
            dg_vec g[4];
            transform_taps(5, M + i * j->NR + c, M_STEP, g);
            for (int t = 0; t < 4; t++) {
                size_t tap = (size_t)((t / 2 * S + py) * K + t % 2 * S + px);
                dg_vec *to = (dg_vec *)(copy + ((size_t)i * (size_t)(K * K) + tap) * j->ldw + c);
                if (add) g[t] += *to;
                *to = g[t];
            }
        }
}

/* For two taps, adds the gradient of a piece and a chunk of output channels to `copy`. */
static void add_piece_to_taps(const job *j, const real *V, const real *Z, real *copy, int tiles, int chunk, int py,
                              int add)
{
    const dg_conv_args *a = j->a;
    dg_micro *micro = j->NR == DG_LANES ? micro1 : micro2;
    int channels = dg_min(j->chunk, a->Co - chunk * j->chunk);
    real M[25 * M_STEP];
    for (int px = 0; px < a->S; px++)
        for (int c = 0; c < channels; c += DG_MR) {
            for (int f = 0; f < j->points; f++) {
                const real *v = V + (size_t)(px * j->points + f) * j->v_step;
                dg_span run = {Z + (size_t)f * j->z_step + c, v, tiles};
                micro(&run, 1, M + f * M_STEP, j->NR, 0, (ptrdiff_t)j->ldz, j->NR);
            }
            size_t co = (size_t)(chunk * j->chunk + c);
            add_taps(j, M, copy + co * 4 * (size_t)(a->S * a->S) * j->ldw, dg_min(DG_MR, channels - c), py, px, add);
        }
}

/* For three taps, adds the products of a piece and a chunk of output channels to copy[frequency][co][ci]. */
static void add_piece(const job *j, const real *V, const real *Z, real *copy, int tiles, int block, int chunk, int add)
{
    dg_micro *micro = j->NR == DG_LANES ? wide1 : wide2;
    const int wide = dg_min(j->wide, j->a->Ci - block * j->wide);
    const int channels = dg_min(j->chunk, j->a->Co - chunk * j->chunk),
              chain = dg_ceil_div(tiles, dg_ceil_div(tiles, CHAIN));
    for (int f = 0; f < j->points; f++, V += j->v_step, Z += j->z_step)
        for (int c = 0; c < channels; c += DG_MR) {
            real *to = copy + (size_t)(f * j->rows_of_w + chunk * j->chunk + c) * j->ldw;
            for (int b = 0; b < wide; b += j->NR)
                for (int t = 0; t < tiles; t += chain) {
                    dg_span run = {Z + (size_t)t * j->ldz + c, V + (size_t)t * j->ldv + b, dg_min(chain, tiles - t)};
                    micro(&run, 1, to + b, (ptrdiff_t)j->ldw, add || t, (ptrdiff_t)j->ldz, (ptrdiff_t)j->ldv);
                }
        }
}

static void unit(const job *j, real *V, real *Z, int u)
{
    const dg_conv_args *a = j->a;
    int py = u % a->S, block = u / a->S % j->blocks, slice = u / a->S / j->blocks;
    int pieces = j->groups * j->bands;
    int p0 = (int)((long)pieces * slice / j->slices), p1 = (int)((long)pieces * (slice + 1) / j->slices);
    real *copy = j->copies + (size_t)slice * j->copy_count + (size_t)block * (size_t)j->wide;
    for (int i = p0; i < p1; i++) {
        piece p = piece_of(j, i);
        int tiles = p.images * p.rows * j->across;
        transform_x(j, &p, V, block, py);
        for (int chunk = 0; chunk < j->chunks; chunk++) {
            transform_y(j, &p, Z, chunk);
            if (j->taps == 3) add_piece(j, V, Z, copy, tiles, block, chunk, i > p0);
            else add_piece_to_taps(j, V, Z, copy, tiles, chunk, py, i > p0);
        }
    }
}

static void add_slices(const job *j, real *sum, size_t count)
{
    for (int s = 1; s < j->slices; s++)
        for (size_t i = 0; i < count; i++) sum[i] += sum[(size_t)s * j->copy_count + i];
}

static void finish_frequencies(const job *j, int co)
{
    const dg_conv_args *a = j->a;
    const size_t step = (size_t)j->rows_of_w * j->ldw;
    real *w = (real *)a->w + (size_t)co * 9 * (size_t)a->Ci, *sum = j->copies + (size_t)co * j->ldw;
    for (int f = 0; f < j->points; f++) add_slices(j, sum + (size_t)f * step, j->ldw);
    for (int c = 0; c < a->Ci; c += DG_LANES) {
        dg_vec g[DG_TAPS * DG_TAPS];
        transform_taps(6, sum + c, step, g);
        for (int t = 0; t < 9; t++)
            memcpy(w + (ptrdiff_t)t * a->Ci + c, &g[t], (size_t)dg_min(DG_LANES, a->Ci - c) * sizeof(real));
    }
}

static void finish_taps(const job *j, int co)
{
    const dg_conv_args *a = j->a;
    size_t taps = 4 * (size_t)(a->S * a->S), row = taps * j->ldw;
    real *w = (real *)a->w + (size_t)co * taps * (size_t)a->Ci, *sum = j->copies + (size_t)co * row;
    add_slices(j, sum, row);
    for (size_t t = 0; t < taps; t++) memcpy(w + t * (size_t)a->Ci, sum + t * j->ldw, (size_t)a->Ci * sizeof(real));
}

static size_t carve(job *j, void *scratch, real **V, real **Z)
{
    dg_carver c = {(uintptr_t)scratch, 0};
    size_t points = (size_t)j->points, team = (size_t)j->team;
    j->zeros = dg_carve(&c, (size_t)dg_max(j->wide, j->chunk) * sizeof(real));
    j->copies = dg_carve(&c, (size_t)j->slices * j->copy_count * sizeof(real));
    *V = dg_carve(&c, (size_t)j->a->S * points * j->v_step * team * sizeof(real));
    *Z = dg_carve(&c, (points * j->z_step * team + DG_MR) * sizeof(real));
    return c.used;
}

size_t DG_CPU(dg_conv_winograd_dw)(const dg_conv_args *a, bool run)
{
    job j = plan(a);
    real *Vs, *Zs;
    const size_t bytes = carve(&j, run ? a->scratch : NULL, &Vs, &Zs);
    if (!run) return bytes;
    memset(j.zeros, 0, (size_t)dg_max(j.wide, j.chunk) * sizeof(real));
#pragma omp parallel num_threads(dg_conv_team(a, j.team))
    {
        size_t t = (size_t)omp_get_thread_num(), points = (size_t)j.points;
#pragma omp for schedule(dynamic, 1)
        for (int u = 0; u < j.units; u++)
            unit(&j, Vs + t * (size_t)a->S * points * j.v_step, Zs + t * points * j.z_step, u);
#pragma omp for schedule(static)
        for (int co = 0; co < a->Co; co++) (j.taps == 3 ? finish_frequencies : finish_taps)(&j, co);
    }
    return bytes;
}
