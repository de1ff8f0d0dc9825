/* Weight gradient of convolutions with K = 2S by minimal filtering (conv_winograd.h).
 *
 *     V[phase][frequency][tile][NR]   x transformed: one block of input channels, S phases of one row
 *     Z[frequency][tile][channel]     y transformed: a chunk of output channels
 *     M[frequency][DG_MR][NR]         their products, summed over the tiles of a piece, for one tile of w
 *
 * M stays in L1 and goes straight back to 2 x 2 taps, which are added to a copy of w. Work is split by blocks of
 * input channels, rows of phases and slices of the list of pieces (a few images, or a band of one); each slice
 * has its own copy, added in order at the end. Their number depends on shapes alone. */
#include "kernels/ops/conv/cpu/conv_winograd.h"

#include <omp.h>
#include <string.h>

enum {
    TILES = 64 * 25,             /* tiles of a piece times frequencies: V and Z of a piece share L2 */
    UNITS = 16,                  /* pieces of work, if there are enough pieces */
    CHUNK = DG_MR == 6 ? 72 : 64 /* output channels in Z: whole tiles and whole vectors */
};
_Static_assert(CHUNK % DG_MR == 0 && CHUNK % DG_LANES == 0, "tiles and vectors must divide a chunk");

DG_MICRO(micro2, DG_MR, 2, ak, 2 * DG_LANES)
DG_MICRO(micro1, DG_MR, 1, ak, DG_LANES)

typedef struct {
    const dg_conv_args *a;
    int m, points;
    int NR, ci_blocks, chunk, chunks; /* input channels a block; output channels a chunk */
    int down, across;                 /* tiles of an image */
    int images, rows, groups, bands;  /* of a piece; pieces */
    int slices, units, team;
    size_t v_step, z_step, ldz; /* reals between frequencies of V and Z, between tiles of Z */
    size_t ldw, copy_count;     /* reals between taps of a copy of w, of one copy */
    real *zeros, *copies;
} job;

static job plan(const dg_conv_args *a)
{
    job j = {.a = a, .m = dg_winograd_tile(a->Ho, a->Wo)};
    j.points = (j.m + 1) * (j.m + 1);
    j.NR = a->Ci <= DG_LANES ? DG_LANES : 2 * DG_LANES;
    j.ci_blocks = dg_ceil_div(a->Ci, j.NR);
    j.chunk = dg_min(CHUNK, dg_ceil_div(a->Co, DG_LANES) * DG_LANES);
    j.chunks = dg_ceil_div(a->Co, j.chunk);
    j.down = dg_ceil_div(a->Ho, j.m);
    j.across = dg_ceil_div(a->Wo, j.m);
    int tiles = TILES / j.points;
    j.rows = dg_max(1, dg_min(j.down, tiles / j.across));
    j.bands = dg_ceil_div(j.down, j.rows);
    j.images = dg_max(1, dg_min(a->N, tiles / (j.across * j.rows)));
    j.groups = dg_ceil_div(a->N, j.images);
    size_t room = (size_t)j.images * (size_t)j.rows * (size_t)j.across;
    j.ldz = dg_odd_lines((size_t)j.chunk + DG_MR);
    j.z_step = dg_odd_lines(room * j.ldz);
    j.v_step = dg_odd_lines(room * (size_t)j.NR);
    j.slices = dg_max(1, dg_min(dg_ceil_div(UNITS, j.ci_blocks * a->S), j.groups * j.bands));
    j.units = j.slices * j.ci_blocks * a->S;
    j.team = dg_min(j.units, DG_TEAM);
    j.ldw = (size_t)j.ci_blocks * (size_t)j.NR;
    j.copy_count = (size_t)a->Co * 4 * (size_t)(a->S * a->S) * j.ldw;
    return j;
}

typedef struct {
    int n0, images, row0, rows; /* images and rows of tiles */
} piece;

static piece piece_of(const job *j, int p)
{
    piece c = {p / j->bands * j->images, 0, p % j->bands * j->rows, 0};
    c.images = dg_min(j->images, j->a->N - c.n0);
    c.rows = dg_min(j->rows, j->down - c.row0);
    return c;
}

static __attribute__((noinline)) void input4(const real *const *from, int channels, real *to, size_t step)
{
    for (ptrdiff_t c = 0; c < channels; c += DG_LANES) dg_transform_input(4, from, c, to + c, step);
}

static __attribute__((noinline)) void input2(const real *const *from, int channels, real *to, size_t step)
{
    for (ptrdiff_t c = 0; c < channels; c += DG_LANES) dg_transform_input(2, from, c, to + c, step);
}

/* m x m outputs at channels c.. to all frequencies. */
DG_INLINE void transform_back(const int m, const real *const *from, ptrdiff_t c, real *to, size_t step)
{
    dg_vec t[4][DG_POINTS];
    DG_UNROLL for (int i = 0; i < m; i++)
    {
        dg_vec y[4];
        DG_UNROLL for (int k = 0; k < m; k++) y[k] = *(const dg_vec *)(from[i * m + k] + c);
        dg_wide_outputs_back(m, y, t[i]);
    }
    DG_UNROLL for (int s = 0; s <= m; s++)
    {
        dg_vec y[4], z[DG_POINTS];
        DG_UNROLL for (int i = 0; i < m; i++) y[i] = t[i][s];
        dg_wide_outputs_back(m, y, z);
        DG_UNROLL for (int r = 0; r <= m; r++) * (dg_vec *)(to + (size_t)(r * (m + 1) + s) * step) = z[r];
    }
}

static __attribute__((noinline)) void back4(const real *const *from, int channels, real *to, size_t step)
{
    for (ptrdiff_t c = 0; c < channels; c += DG_LANES) transform_back(4, from, c, to + c, step);
}

static __attribute__((noinline)) void back2(const real *const *from, int channels, real *to, size_t step)
{
    for (ptrdiff_t c = 0; c < channels; c += DG_LANES) transform_back(2, from, c, to + c, step);
}

/* Transform `channels` channels behind the n pointers; the last, partial vector goes through a copy. */
static void whole_and_rest(void (*transform)(const real *const *, int, real *, size_t), const real **from, int n,
                           int channels, real *to, size_t step)
{
    int whole = channels / DG_LANES * DG_LANES, rest = channels - whole;
    transform(from, whole, to, step);
    if (!rest) return;
    real tail[DG_POINTS * DG_POINTS][DG_LANES] = {{0}};
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < rest; k++) tail[i][k] = from[i][whole + k];
        from[i] = tail[i];
    }
    transform(from, DG_LANES, to + whole, step);
}

/* V of a piece, S phases of one row: V[px]. */
static void transform_x(const job *j, const piece *p, real *V, int block, int py)
{
    const dg_conv_args *a = j->a;
    int n = j->m + 1, c0 = block * j->NR;
    ptrdiff_t size = (ptrdiff_t)a->H * a->W * a->Ci, share = size / (j->down * j->across + 1);
    const real *end = (const real *)a->x + a->N * size;
    for (int i = p->n0; i < p->n0 + p->images; i++) {
        const real *image = (const real *)a->x + i * size;
        for (int t = 0; t < p->rows * j->across; t++, V += j->NR) {
            int ty = p->row0 + t / j->across, tx = t % j->across, y0 = ty * j->m * a->S + py - a->P;
            if (j->ci_blocks == 1) dg_fetch(image + (ptrdiff_t)((ty + 1) * j->across + tx) * share, share, end);
            for (int px = 0; px < a->S; px++) {
                int x0 = tx * j->m * a->S + px - a->P;
                const real *from[DG_POINTS * DG_POINTS];
                for (int r = 0; r < n; r++)
                    for (int s = 0; s < n; s++) {
                        int iy = y0 + r * a->S, ix = x0 + s * a->S;
                        bool in = iy >= 0 && iy < a->H && ix >= 0 && ix < a->W;
                        from[r * n + s] = in ? image + ((ptrdiff_t)iy * a->W + ix) * a->Ci + c0 : j->zeros;
                    }
                whole_and_rest(j->m == 4 ? input4 : input2, from, n * n, dg_min(j->NR, a->Ci - c0),
                               V + (size_t)(px * j->points) * j->v_step, j->v_step);
            }
        }
    }
}

static void transform_y(const job *j, const piece *p, real *Z, int chunk)
{
    const dg_conv_args *a = j->a;
    int m = j->m, c0 = chunk * j->chunk;
    ptrdiff_t size = (ptrdiff_t)a->Ho * a->Wo * a->Co, share = size / (j->down * j->across);
    const real *end = (const real *)a->y + a->N * size;
    for (int i = p->n0; i < p->n0 + p->images; i++) {
        const real *image = (const real *)a->y + i * size + c0;
        for (int t = 0; t < p->rows * j->across; t++, Z += j->ldz) {
            if (j->chunks == 1) dg_fetch(image + (p->row0 * j->across + t + j->across) * share, share, end);
            int y0 = (p->row0 + t / j->across) * m, x0 = t % j->across * m;
            const real *from[16];
            for (int r = 0; r < m; r++)
                for (int s = 0; s < m; s++) {
                    bool in = y0 + r < a->Ho && x0 + s < a->Wo;
                    from[r * m + s] = in ? image + ((ptrdiff_t)(y0 + r) * a->Wo + x0 + s) * a->Co : j->zeros;
                }
            whole_and_rest(m == 4 ? back4 : back2, from, m * m, dg_min(j->chunk, a->Co - c0), Z, j->z_step);
        }
    }
}

/* All frequencies of one vector to 2 x 2 taps: g[p * 2 + q]. */
DG_INLINE void transform_taps(const int m, const real *M, ptrdiff_t step, dg_vec g[4])
{
    dg_vec t[2][DG_POINTS];
    DG_UNROLL for (int s = 0; s <= m; s++)
    {
        dg_vec u[DG_POINTS], two[2];
        DG_UNROLL for (int r = 0; r <= m; r++) u[r] = *(const dg_vec *)(M + (r * (m + 1) + s) * step);
        dg_wide_taps_back(m, u, two);
        t[0][s] = two[0];
        t[1][s] = two[1];
    }
    dg_wide_taps_back(m, t[0], g);
    dg_wide_taps_back(m, t[1], g + 2);
}

enum { M_STEP = DG_MR * 2 * DG_LANES + 64 / (int)sizeof(real) };

/* copy[co][ky][kx][ci..] = or += the taps of one phase, for `rows` output channels. */
static __attribute__((noinline)) void add_taps(const job *j, const real *M, real *copy, int rows, int py, int px,
                                               int add)
{
    int S = j->a->S, K = 2 * S;
    for (int i = 0; i < rows; i++)
        for (int c = 0; c < j->NR; c += DG_LANES) {
            dg_vec g[4];
            if (j->m == 4) transform_taps(4, M + i * j->NR + c, M_STEP, g);
            else transform_taps(2, M + i * j->NR + c, M_STEP, g);
            for (int t = 0; t < 4; t++) {
                size_t tap = (size_t)((t / 2 * S + py) * K + t % 2 * S + px);
                dg_vec *to = (dg_vec *)(copy + ((size_t)i * (size_t)(K * K) + tap) * j->ldw + c);
                if (add) g[t] += *to;
                *to = g[t];
            }
        }
}

/* One slice, block of input channels and row of phases. */
static void unit(const job *j, real *V, real *Z, int u)
{
    const dg_conv_args *a = j->a;
    int py = u % a->S, block = u / a->S % j->ci_blocks, slice = u / a->S / j->ci_blocks;
    int pieces = j->groups * j->bands;
    int p0 = (int)((long)pieces * slice / j->slices), p1 = (int)((long)pieces * (slice + 1) / j->slices);
    real *copy = j->copies + (size_t)slice * j->copy_count + (size_t)block * (size_t)j->NR;
    real M[DG_POINTS * DG_POINTS * M_STEP];
    dg_micro *micro = j->NR == DG_LANES ? micro1 : micro2;
    for (int i = p0; i < p1; i++) {
        piece p = piece_of(j, i);
        int tiles = p.images * p.rows * j->across;
        transform_x(j, &p, V, block, py);
        for (int chunk = 0; chunk < j->chunks; chunk++) {
            transform_y(j, &p, Z, chunk);
            int channels = dg_min(j->chunk, a->Co - chunk * j->chunk);
            for (int px = 0; px < a->S; px++)
                for (int c = 0; c < channels; c += DG_MR) {
                    for (int f = 0; f < j->points; f++) {
                        const real *v = V + (size_t)(px * j->points + f) * j->v_step;
                        dg_span run = {Z + (size_t)f * j->z_step + c, v, tiles};
                        micro(&run, 1, M + f * M_STEP, j->NR, 0, (ptrdiff_t)j->ldz, 0);
                    }
                    size_t co = (size_t)(chunk * j->chunk + c);
                    add_taps(j, M, copy + co * 4 * (size_t)(a->S * a->S) * j->ldw, dg_min(DG_MR, channels - c), py, px,
                             i > p0);
                }
        }
    }
}

/* w of one output channel: the slices' copies added in order. */
static void finish(const job *j, int co)
{
    const dg_conv_args *a = j->a;
    size_t taps = 4 * (size_t)(a->S * a->S), row = taps * j->ldw;
    real *w = (real *)a->w + (size_t)co * taps * (size_t)a->Ci, *sum = j->copies + (size_t)co * row;
    for (int s = 1; s < j->slices; s++)
        for (size_t i = 0; i < row; i++) sum[i] += sum[(size_t)s * j->copy_count + i];
    for (size_t t = 0; t < taps; t++) memcpy(w + t * (size_t)a->Ci, sum + t * j->ldw, (size_t)a->Ci * sizeof(real));
}

static size_t carve(job *j, void *scratch, real **V, real **Z)
{
    dg_carver c = {(uintptr_t)scratch, 0};
    size_t points = (size_t)j->points, team = (size_t)j->team;
    j->zeros = dg_carve(&c, (size_t)dg_max(j->NR, j->chunk) * sizeof(real));
    j->copies = dg_carve(&c, (size_t)j->slices * j->copy_count * sizeof(real));
    *V = dg_carve(&c, (size_t)j->a->S * points * j->v_step * team * sizeof(real));
    *Z = dg_carve(&c, (points * j->z_step * team + DG_MR) * sizeof(real));
    return c.used;
}

size_t DG_CPU(dg_conv_winograd_dw_scratch)(const dg_conv_args *a)
{
    job j = plan(a);
    real *V, *Z;
    return carve(&j, NULL, &V, &Z);
}

void DG_CPU(dg_conv_winograd_dw)(const dg_conv_args *a)
{
    job j = plan(a);
    real *Vs, *Zs;
    carve(&j, a->scratch, &Vs, &Zs);
    memset(j.zeros, 0, (size_t)dg_max(j.NR, j.chunk) * sizeof(real));
#pragma omp parallel num_threads(dg_conv_team(a, j.team))
    {
        size_t t = (size_t)omp_get_thread_num(), points = (size_t)j.points;
#pragma omp for schedule(dynamic, 1)
        for (int u = 0; u < j.units; u++)
            unit(&j, Vs + t * (size_t)a->S * points * j.v_step, Zs + t * points * j.z_step, u);
#pragma omp for schedule(static)
        for (int co = 0; co < a->Co; co++) finish(&j, co);
    }
}
