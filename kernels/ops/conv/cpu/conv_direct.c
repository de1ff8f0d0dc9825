/* Direct convolution, forward and data gradient in one implementation. Sources: Dumoulin & Visin 2016 (arithmetic),
 * Shi et al. 2016 (sub-pixels).
 *
 * In the forward pass, output o of an axis reads inputs o*S-P to o*S-P+K-1 through taps 0 to K-1. In the backward
 * pass, output o belongs to one of S phases, (o+P) mod S. Outputs of phase p use taps p, p+S, ... in descending order,
 * because the inputs ascend.
 *
 * If K is a multiple of S, all S x S phases of the backward pass read equal inputs. If there are also few channels, the
 * backward pass merges the phases into one convolution with stride 1 and K/S taps ("sub-pixel"). Each pixel of its
 * result has the channels of S x S pixels.
 *
 * A tile is one output pixel of DG_MR images by one or two vectors of output channels. Input rows are packed with the
 * images innermost: in[iy][ix][c][image]. For each row of taps, a tile therefore reads contiguous memory. Weights are
 * packed once per call into panels [phase][block of channels][ty][tx][c][DG_LANES * vectors].
 *
 * Threads divide the work by sets of images, by bands of output rows and, if necessary, by blocks of channels. */
#include "kernels/ops/conv/cpu/conv_pack.h"
#include "kernels/ops/conv/cpu/conv_internal.h"

#include <omp.h>
#include <string.h>

enum { BAND_BYTES = 320 << 10 };

DG_MICRO(micro2, DG_MR, 2, DG_MR, 2 * DG_LANES)
DG_MICRO(micro1, DG_MR, 1, DG_MR, DG_LANES)

typedef struct {
    int first, count, tap, phase;
} span;

typedef struct {
    const real *in, *w;
    real *out;
    int N, Hi, Wi, Ci;
    int Ho, Wo, Co;
    int K, S, P;
    bool adjoint, merged;
    int taps, stride, pad; /* parameters of axis_span() */
    int phases;
    int Hv, Wv, Cv, first;
    int NR, blocks;
    int groups, set, sets;
    int rows, bands;
    int team;
    size_t group_count, panel_count;
} job;

static int phase_taps(const job *j, int p) { return p < j->taps ? (j->taps - p + j->phases - 1) / j->phases : 0; }

static span axis_span(const job *j, int o, int inputs)
{
    span s;
    int start, taps = j->taps;
    if (j->adjoint && !j->merged) {
        s.phase = (o + j->pad) % j->stride;
        taps = phase_taps(j, s.phase);
        start = (o + j->pad) / j->stride - taps + 1;
    } else {
        s.phase = 0;
        start = o * j->stride - j->pad;
    }
    s.first = dg_max(start, 0);
    s.count = dg_max(dg_min(start + taps, inputs) - s.first, 0);
    s.tap = s.first - start;
    return s;
}

/* Sets the range [*lo, *hi) of input rows that output rows o0 <= o < o1 read. */
static void band_inputs(const job *j, int o0, int o1, int *lo, int *hi)
{
    *lo = j->Hi;
    *hi = 0;
    for (int o = o0; o < o1; o++) {
        span s = axis_span(j, o, j->Hi);
        if (!s.count) continue;
        *lo = dg_min(*lo, s.first);
        *hi = dg_max(*hi, s.first + s.count);
    }
    if (*hi < *lo) *lo = *hi = 0;
}

static int band_height(const job *j)
{
    int most = 0;
    for (int o = 0; o < j->Hv; o += j->rows) {
        int lo, hi;
        band_inputs(j, o, dg_min(o + j->rows, j->Hv), &lo, &hi);
        most = dg_max(most, hi - lo);
    }
    return most;
}

static int padded(int n)
{
    int NR = n <= DG_LANES ? DG_LANES : 2 * DG_LANES;
    return dg_ceil_div(n, NR) * NR;
}

static job plan(bool adjoint, const dg_conv_args *a)
{
    job j = {.N = a->N, .K = a->K, .S = a->S, .P = a->P, .w = a->w, .adjoint = adjoint};
    if (adjoint) {
        j.in = a->y, j.Hi = a->Ho, j.Wi = a->Wo, j.Ci = a->Co;
        j.out = a->x, j.Ho = a->H, j.Wo = a->W, j.Co = a->Ci;
    } else {
        j.in = a->x, j.Hi = a->H, j.Wi = a->W, j.Ci = a->Ci;
        j.out = a->y, j.Ho = a->Ho, j.Wo = a->Wo, j.Co = a->Co;
    }
    int squares = a->S * a->S;
    j.taps = a->K, j.stride = a->S, j.pad = a->P;
    j.Hv = j.Ho, j.Wv = j.Wo, j.Cv = j.Co;
    j.phases = adjoint ? a->S : 1;
    j.merged = adjoint && a->K % a->S == 0 && padded(squares * j.Co) < squares * padded(j.Co);
    if (j.merged) {
        j.first = a->P / a->S;
        j.Hv = (j.Ho - 1 + a->P) / a->S - j.first + 1;
        j.Wv = (j.Wo - 1 + a->P) / a->S - j.first + 1;
        j.Cv = squares * j.Co;
        j.taps = a->K / a->S, j.stride = 1, j.pad = j.taps - 1 - j.first;
        j.phases = 1;
    }
    j.NR = j.Cv <= DG_LANES ? DG_LANES : 2 * DG_LANES;
    j.blocks = dg_ceil_div(j.Cv, j.NR);
    j.panel_count = (size_t)j.taps * (size_t)j.taps * (size_t)j.Ci * (size_t)j.blocks * (size_t)j.NR;

    size_t row = (size_t)j.Wi * (size_t)j.Ci * DG_MR;
    for (j.rows = j.Hv; j.rows > 1; j.rows = (j.rows + 1) / 2)
        if ((size_t)band_height(&j) * row * sizeof(real) <= BAND_BYTES) break;
    j.bands = dg_ceil_div(j.Hv, j.rows);
    j.group_count = (size_t)band_height(&j) * row + DG_SQUARE;
    j.groups = dg_ceil_div(j.N, DG_MR);
    j.set = dg_max(1, dg_min((int)(BAND_BYTES / (j.group_count * sizeof(real))), j.groups));
    j.sets = dg_ceil_div(j.groups, j.set);
    j.team = (int)dg_min_size((size_t)j.sets * (size_t)j.bands * (size_t)j.blocks, DG_TEAM);
    return j;
}

/* Returns the offset of a panel. Panels are ordered by phase, and phases may have different numbers of taps. */
static size_t panel_start(const job *j, int py, int px, int block)
{
    size_t taps = 0, own = (size_t)phase_taps(j, py) * (size_t)phase_taps(j, px);
    for (int q = 0; q < py; q++) taps += (size_t)phase_taps(j, q) * (size_t)j->taps;
    for (int q = 0; q < px; q++) taps += (size_t)phase_taps(j, py) * (size_t)phase_taps(j, q);
    return (taps * (size_t)j->blocks + own * (size_t)block) * (size_t)j->Ci * (size_t)j->NR;
}

/* Column i of the panel is row n0+i of w. */
static void pack_forward(const job *j, real *to, int block)
{
    int n0 = block * j->NR;
    ptrdiff_t row = (ptrdiff_t)j->K * j->K * j->Ci;
    dg_interleave(to, j->NR, j->w + n0 * row, row, dg_min(j->NR, j->Co - n0), row);
}

/* Packs one tap of the backward pass: the weights w[c][ky][kx][n0..] for each c. */
static void pack_backward(const job *j, real *restrict to, int block, int ky, int kx)
{
    int n0 = block * j->NR, n = dg_min(j->NR, j->Co - n0);
    ptrdiff_t step = (ptrdiff_t)j->K * j->K * j->Co;
    const real *from = j->w + ((ptrdiff_t)ky * j->K + kx) * j->Co + n0;
    for (int c = 0; c < j->Ci; c++, to += j->NR, from += step) dg_pack_vectors(to, from, n, j->NR);
}

/* Packs tap (ty, tx) of merged phases. Column (py*S+px)*Co+n has channel n of phase (py, px). */
static void pack_merged(const job *j, real *restrict to, int block, int ty, int tx)
{
    int n0 = block * j->NR;
    for (int i = 0; i < j->NR; i++) {
        int column = n0 + i, square = column / j->Co, n = column % j->Co;
        int ky = square / j->S + j->S * (j->taps - 1 - ty), kx = square % j->S + j->S * (j->taps - 1 - tx);
        const real *from = j->w + ((ptrdiff_t)ky * j->K + kx) * j->Co + n;
        for (int c = 0; c < j->Ci; c++)
            to[c * j->NR + i] = column < j->Cv ? from[(ptrdiff_t)c * j->K * j->K * j->Co] : 0;
    }
}

static void pack_weights(const job *j, real *panel)
{
    int rows = j->adjoint ? j->taps : 1;
#pragma omp for collapse(3) schedule(static)
    for (int phase = 0; phase < j->phases * j->phases; phase++) {
        for (int block = 0; block < j->blocks; block++) {
            for (int y = 0; y < rows; y++) {
                int py = phase / j->phases, px = phase % j->phases;
                int ty = phase_taps(j, py), tx = phase_taps(j, px);
                real *to = panel + panel_start(j, py, px, block);
                if (!j->adjoint) pack_forward(j, to, block);
                if (!j->adjoint || y >= ty) continue;
                to += (size_t)y * (size_t)tx * (size_t)j->Ci * (size_t)j->NR;
                for (int x = 0; x < tx; x++, to += (size_t)j->Ci * (size_t)j->NR) {
                    if (j->merged) pack_merged(j, to, block, y, x);
                    else pack_backward(j, to, block, py + j->S * (ty - 1 - y), px + j->S * (tx - 1 - x));
                }
            }
        }
    }
}

enum { RUNS = 16 };

typedef struct {
    const job *j;
    const real *panel, *band;
    int lo;
    int oy;
    span y;
} row;

static void tile(const row *w, span x, const real *panel, const real *band, real *c, ptrdiff_t ldc)
{
    const job *j = w->j;
    size_t tap = (size_t)j->Ci * (size_t)j->NR;
    int tx = phase_taps(j, x.phase), rows = x.count ? w->y.count : 0, done = 0;
    dg_micro *micro = j->NR == DG_LANES ? micro1 : micro2;
    do {
        dg_span run[RUNS];
        int n = dg_min(rows - done, RUNS);
        for (int r = 0; r < n; r++) {
            int iy = w->y.first - w->lo + done + r, tap_y = w->y.tap + done + r;
            run[r].a = band + ((size_t)iy * (size_t)j->Wi + (size_t)x.first) * (size_t)j->Ci * DG_MR;
            run[r].b = panel + (size_t)(tap_y * tx + x.tap) * tap;
            run[r].n = (ptrdiff_t)x.count * j->Ci;
        }
        dg_micro_sum(micro, run, n, c, ldc, done > 0, DG_MR, j->NR);
        done += n;
    } while (done < rows);
}

/* Stores a tile of merged phases. For each image, the tile has S rows of up to S pixels. */
static void scatter(const row *w, const real *c, int n0, int images, int block, int ox)
{
    const job *j = w->j;
    ptrdiff_t image = (ptrdiff_t)j->Ho * j->Wo * j->Co;
    int c0 = block * j->NR, c1 = dg_min(c0 + j->NR, j->Cv);
    for (int column = c0; column < c1;) {
        int square = column / j->Co, n = column % j->Co, py = square / j->S, px = square % j->S;
        int y = (w->oy + j->first) * j->S + py - j->P, x = (ox + j->first) * j->S + px - j->P;
        /* number of contiguous columns before the end of the tile, of the row of S pixels, or of the image */
        int run = dg_min(c1 - column, (j->S - px) * j->Co - n);
        if (x < 0 || y < 0 || y >= j->Ho) run = dg_min(run, j->Co - n);
        else run = dg_min(run, (j->Wo - x) * j->Co - n);
        if (run <= 0) run = dg_min(c1 - column, j->Co - n);
        if (x >= 0 && x < j->Wo && y >= 0 && y < j->Ho) {
            real *to = j->out + n0 * image + ((ptrdiff_t)y * j->Wo + x) * j->Co + n;
            const real *from = c + column - c0;
            if (j->blocks == 1 && run <= DG_SQUARE && x * j->Co + n + DG_SQUARE <= j->Wo * j->Co) {
                /* Excess values of the DG_SQUARE stored values are overwritten later. */
                for (int i = 0; i < images; i++)
                    *(dg_square_row *)(to + i * image) = *(const dg_square_row *)(from + i * j->NR);
            } else {
                for (int i = 0; i < images; i++)
                    for (int k = 0; k < run; k++) to[i * image + k] = from[i * j->NR + k];
            }
        }
        column += run;
    }
}

static void row_tiles(const row *w, int block, int g0, int g1)
{
    const job *j = w->j;
    ptrdiff_t image = (ptrdiff_t)j->Ho * j->Wo * j->Co;
    int c0 = block * j->NR, channels = dg_min(j->NR, j->Co - c0);
    for (int px = 0; px < j->phases; px++) {
        for (int ox = px; ox < j->Wv; ox += j->phases) {
            span x = axis_span(j, ox, j->Wi);
            const real *panel = w->panel + panel_start(j, w->y.phase, x.phase, block), *band = w->band;
            for (int g = g0; g < g1; g++, band += j->group_count) {
                int n0 = g * DG_MR, images = dg_min(DG_MR, j->N - n0);
                real edge[DG_MR * 2 * DG_LANES + DG_SQUARE];
                if (j->merged) {
                    tile(w, x, panel, band, edge, j->NR);
                    scatter(w, edge, n0, images, block, ox);
                    continue;
                }
                real *out = j->out + n0 * image + ((ptrdiff_t)w->oy * j->Wo + ox) * j->Co + c0;
                if (channels == j->NR && images == DG_MR) {
                    tile(w, x, panel, band, out, image);
                    continue;
                }
                tile(w, x, panel, band, edge, j->NR);
                for (int i = 0; i < images; i++)
                    memcpy(out + i * image, edge + i * j->NR, (size_t)channels * sizeof(real));
            }
        }
    }
}

static void unit(const job *j, const real *panel, real *pack, int set, int band, int b0, int b1)
{
    int g0 = set * j->set, g1 = dg_min(g0 + j->set, j->groups);
    int o0 = band * j->rows, o1 = dg_min(o0 + j->rows, j->Hv), lo, hi;
    ptrdiff_t image = (ptrdiff_t)j->Hi * j->Wi * j->Ci, line = (ptrdiff_t)j->Wi * j->Ci;
    band_inputs(j, o0, o1, &lo, &hi);
    for (int g = g0; g < g1; g++)
        dg_interleave(pack + (size_t)(g - g0) * j->group_count, DG_MR, j->in + g * DG_MR * image + lo * line, image,
                      dg_min(DG_MR, j->N - g * DG_MR), (hi - lo) * line);
    for (int block = b0; block < b1; block++)
        for (int oy = o0; oy < o1; oy++) {
            row w = {j, panel, pack, lo, oy, axis_span(j, oy, j->Hi)};
            row_tiles(&w, block, g0, g1);
        }
}

static size_t carve(const job *j, void *scratch, real **panel, real **packs)
{
    dg_carver c = {(uintptr_t)scratch, 0};
    *panel = dg_carve(&c, j->panel_count * sizeof(real));
    *packs = dg_carve(&c, j->group_count * (size_t)j->set * (size_t)j->team * sizeof(real));
    return c.used;
}

size_t DG_CPU(dg_conv_direct)(dg_op_kind kind, const dg_conv_args *a, bool run)
{
    if (kind == DG_OP_conv_fwd && DG_CPU(dg_conv_fwd_is_thin)(a)) return DG_CPU(dg_conv_fwd_thin)(a, run);
    job j = plan(kind == DG_OP_conv_dx, a);
    real *panel, *packs;
    const size_t bytes = carve(&j, run ? a->scratch : NULL, &panel, &packs);
    if (!run) return bytes;
    int team = dg_conv_team(a, j.team);
    /* More parts balance the work better, but each part packs the input again. No sum is divided among parts, so
     * results do not depend on the number of threads. */
    int parts = dg_max(1, dg_min(j.blocks, dg_ceil_div(3 * team, j.sets * j.bands)));
    if (team == 1) parts = 1;
#pragma omp parallel num_threads(team)
    {
        pack_weights(&j, panel);
        real *pack = packs + (size_t)omp_get_thread_num() * j.group_count * (size_t)j.set;
#pragma omp for collapse(3) schedule(dynamic, 1)
        for (int set = 0; set < j.sets; set++)
            for (int band = 0; band < j.bands; band++)
                for (int part = 0; part < parts; part++)
                    unit(&j, panel, pack, set, band, part * j.blocks / parts, (part + 1) * j.blocks / parts);
    }
    return bytes;
}
