/* Direct weight gradient of layers with few input channels, such as the first layer of a discriminator (Ci = 3).
 *
 * The vectors of conv_dw.c contain input channels, so here most lanes would be empty. The vectors of this file contain
 * output channels and are loaded directly from y. For one output pixel and one ky, the inputs are a run of K*Ci
 * consecutive reals of x. dg_pad_rows() copies rows of x with zeros as padding. A tile multiplies TALL reals of a run
 * by one or two vectors of output channels.
 *
 * A piece of the work is a band of rows of one image. Threads compute slices, which are ranges of pieces. Each slice
 * computes its own copy of w. The copies are added in order. The number of slices depends on shapes only. */
#include "kernels/ops/conv/cpu/conv_pack.h"
#include "kernels/ops/conv/cpu/conv_internal.h"

#include <omp.h>
#include <string.h>

enum { X_BYTES = 64 << 10, SLICES = 16, TALL = DG_VEC_BYTES == 64 ? 12 : DG_MR };

DG_MICRO(micro2, TALL, 2, ak, bk)
DG_MICRO(micro1, TALL, 1, ak, bk)

typedef struct {
    const dg_conv_args *a;
    int NR, co_blocks;
    int run, run_blocks;
    int rows, bands;
    int slices, team;
    size_t line;
    size_t x_count, y_count, copy_count;
} job;

static int padded(int n, int to) { return dg_ceil_div(n, to) * to; }
static int vector_block(int n) { return n <= DG_LANES ? DG_LANES : 2 * DG_LANES; }

/* True if this file computes fewer products than conv_dw.c, including padding. */
bool DG_CPU(dg_conv_dw_is_thin)(const dg_conv_args *a)
{
    double here = (double)padded(a->K * a->Ci, TALL) * padded(a->Co, vector_block(a->Co));
    double there = (double)a->K * padded(a->Ci, vector_block(a->Ci)) * padded(a->Co, DG_MR);
    return here < there;
}

static job plan(const dg_conv_args *a)
{
    job j = {.a = a};
    j.NR = vector_block(a->Co);
    j.co_blocks = dg_ceil_div(a->Co, j.NR);
    j.run = a->K * a->Ci;
    j.run_blocks = dg_ceil_div(j.run, TALL);
    j.line = (size_t)(a->W + 2 * a->P) * (size_t)a->Ci;
    for (j.rows = a->Ho; j.rows > 1; j.rows = (j.rows + 1) / 2)
        if ((size_t)((j.rows - 1) * a->S + a->K) * j.line * sizeof(real) <= X_BYTES) break;
    j.bands = dg_ceil_div(a->Ho, j.rows);
    j.x_count = (size_t)dg_min(a->H, (j.rows - 1) * a->S + a->K) * j.line + TALL;
    j.y_count = a->Co % j.NR ? (size_t)j.rows * (size_t)a->Wo * (size_t)j.NR : 0;
    j.copy_count = (size_t)a->K * (size_t)j.run_blocks * (size_t)j.co_blocks * TALL * (size_t)j.NR;
    j.slices = dg_min(SLICES, a->N * j.bands);
    j.team = dg_min(j.slices, DG_TEAM);
    return j;
}

static void pack_rest(const job *j, real *restrict to, const real *y, int pixels)
{
    const dg_conv_args *a = j->a;
    int c0 = (j->co_blocks - 1) * j->NR, n = a->Co - c0;
    for (int p = 0; p < pixels; p++, to += j->NR, y += a->Co) dg_pack_vectors(to, y + c0, n, j->NR);
}

enum { RUNS = 32 };

/* Adds the products of one ky and rows o0 .. o1 - 1 of y to `copy`, [blocks of (kx,ci)][blocks of co][TALL][NR]. If
 * `add` is 0, overwrites `copy`. `rest` is a packed copy of y's last block of channels, or NULL to read y directly. */
static void tiles(const job *j, const real *x, const real *y, const real *rest, real *copy, int ky, int o0, int o1,
                  int lo, int hi, int add)
{
    const dg_conv_args *a = j->a;
    dg_micro *micro = j->NR == DG_LANES ? micro1 : micro2;
    for (int rb = 0; rb < j->run_blocks; rb++) {
        for (int cb = 0; cb < j->co_blocks; cb++, copy += TALL * j->NR) {
            bool packed = rest && cb == j->co_blocks - 1;
            const real *from = packed ? rest : y + cb * j->NR;
            ptrdiff_t bk = packed ? j->NR : a->Co;
            int n = 0, more = add;
            dg_span run[RUNS];
            for (int oy = o0; oy < o1; oy++) {
                int iy = oy * a->S - a->P + ky;
                if (iy < lo || iy >= hi) continue;
                run[n].a = x + (size_t)(iy - lo) * j->line + rb * TALL;
                run[n].b = from + (ptrdiff_t)(oy - o0) * a->Wo * bk;
                run[n].n = a->Wo;
                if (++n < RUNS) continue;
                dg_micro_sum(micro, run, n, copy, j->NR, more, (ptrdiff_t)a->S * a->Ci, bk);
                more = 1;
                n = 0;
            }
            if (n || !more) dg_micro_sum(micro, run, n, copy, j->NR, more, (ptrdiff_t)a->S * a->Ci, bk);
        }
    }
}

static void slice(const job *j, real *copy, real *x, real *rest, int s)
{
    const dg_conv_args *a = j->a;
    int pieces = a->N * j->bands;
    int p0 = (int)((long)pieces * s / j->slices), p1 = (int)((long)pieces * (s + 1) / j->slices);
    for (int p = p0; p < p1; p++) {
        int n = p / j->bands, o0 = p % j->bands * j->rows, o1 = dg_min(o0 + j->rows, a->Ho);
        int lo = dg_min(dg_max(o0 * a->S - a->P, 0), a->H);
        int hi = dg_max(dg_min((o1 - 1) * a->S - a->P + a->K, a->H), lo);
        const real *y = (const real *)a->y + ((ptrdiff_t)n * a->Ho + o0) * a->Wo * a->Co;
        dg_pad_rows(a, x, n, lo, hi);
        memset(x + (size_t)(hi - lo) * j->line, 0, TALL * sizeof(real));
        /* The last block of channels reads past the channels of its pixel, and the resulting sums are discarded. If it
         * would read past the end of y, `rest` is a padded copy of the block. */
        const ptrdiff_t behind = ((ptrdiff_t)(a->N - n) * a->Ho - o1) * a->Wo * a->Co;
        const bool packed = a->Co % j->NR && behind < j->NR;
        if (packed) pack_rest(j, rest, y, (o1 - o0) * a->Wo);
        for (int ky = 0; ky < a->K; ky++)
            tiles(j, x, y, packed ? rest : NULL, copy + (ptrdiff_t)ky * j->run_blocks * j->co_blocks * TALL * j->NR, ky,
                  o0, o1, lo, hi, p > p0);
    }
}

static void finish(const job *j, const real *copies, int ky)
{
    const dg_conv_args *a = j->a;
    real *w = a->w;
    for (int r = 0; r < j->run; r++)
        for (int co = 0; co < a->Co; co++) {
            size_t tile = ((size_t)ky * (size_t)j->run_blocks + (size_t)(r / TALL)) * (size_t)j->co_blocks +
                          (size_t)(co / j->NR);
            const real *from = copies + (tile * TALL + (size_t)(r % TALL)) * (size_t)j->NR + co % j->NR;
            real sum = 0;
            for (int s = 0; s < j->slices; s++) sum += from[(size_t)s * j->copy_count];
            w[((ptrdiff_t)co * a->K + ky) * j->run + r] = sum;
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

size_t DG_CPU(dg_conv_dw_thin)(const dg_conv_args *a, bool run)
{
    job j = plan(a);
    real *copies, *xs, *ys;
    const size_t bytes = carve(&j, run ? a->scratch : NULL, &copies, &xs, &ys);
    if (!run) return bytes;
#pragma omp parallel num_threads(dg_conv_team(a, j.team))
    {
        size_t t = (size_t)omp_get_thread_num();
#pragma omp for schedule(dynamic, 1)
        for (int s = 0; s < j.slices; s++)
            slice(&j, copies + (size_t)s * j.copy_count, xs + t * j.x_count, ys + t * j.y_count, s);
#pragma omp for schedule(static)
        for (int ky = 0; ky < a->K; ky++) finish(&j, copies, ky);
    }
    return bytes;
}
