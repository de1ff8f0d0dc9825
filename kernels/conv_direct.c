/* Direct convolution, forward and data gradient: one engine.
 *
 * Every output pixel is a sum over the input pixels that its taps reach. Forward, output o of an axis reaches
 * inputs o*S-P .. o*S-P+K-1 through taps 0..K-1. Backward, outputs fall into S phases, (o+P) mod S; those of
 * phase p see taps p, p+S, ..., in falling order, so that again consecutive inputs meet consecutive taps. Either
 * way an axis gives each output a span: first input, count, first tap, phase.
 *
 * A tile is one output pixel of DG_MR images times one or two vectors of output channels. Input rows are packed
 * with the images innermost (in[iy][ix][c][image]), so that a tile's operand is one stream a row of taps,
 * padding is skipped exactly and no edge needs a special case. Weights are packed once per call into panels
 * [phase][block of channels][ty][tx][c][DG_LANES * vectors].
 *
 * Work is split by image groups and by bands of output rows. Dumoulin & Visin 2016 for the arithmetic. */
#include "conv_micro.h"
#include "conv_parts.h"

#include <omp.h>
#include <string.h>

enum { BAND_BYTES = 320 << 10 }; /* packed input rows of one unit of work: they share L2 with a weight panel */

DG_MICRO(micro2, DG_MR, 2, DG_MR, 2 * DG_LANES)
DG_MICRO(micro1, DG_MR, 1, DG_MR, DG_LANES)

typedef struct {
    const real *in, *w;
    real *out;
    int N, Hi, Wi, Ci, Ho, Wo, Co, K, S, P;
    bool adjoint;
    int phases;           /* per axis */
    int NR, blocks;       /* channels a block, blocks */
    int groups, rows, bands; /* image groups; output rows a band */
    int units, team;
    size_t panel_count, band_count; /* reals */
} job;

typedef struct {
    int first, count, tap, phase;
} span;

/* Taps that phase p of an axis has. */
static int phase_taps(const job *j, int p) { return p < j->K ? (j->K - p + j->phases - 1) / j->phases : 0; }

static span axis_span(const job *j, int o, int inputs)
{
    span s;
    int start, taps;
    if (j->adjoint) {
        s.phase = (o + j->P) % j->S;
        taps = phase_taps(j, s.phase);
        start = (o + j->P) / j->S - taps + 1;
    } else {
        s.phase = 0;
        taps = j->K;
        start = o * j->S - j->P;
    }
    s.first = dg_max(start, 0);
    s.count = dg_max(dg_min(start + taps, inputs) - s.first, 0);
    s.tap = s.first - start;
    return s;
}

/* Input rows that output rows o0 <= o < o1 reach. */
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

static int band_height(const job *j, int rows)
{
    int most = 0;
    for (int o = 0; o < j->Ho; o += rows) {
        int lo, hi;
        band_inputs(j, o, dg_min(o + rows, j->Ho), &lo, &hi);
        most = dg_max(most, hi - lo);
    }
    return most;
}

static job plan(bool adjoint, const dg_conv_args *a)
{
    job j = {.N = a->N, .K = a->K, .S = a->S, .P = a->P, .w = a->w, .adjoint = adjoint};
    j.in = adjoint ? a->y : a->x;
    j.out = adjoint ? a->x : a->y;
    j.Hi = adjoint ? a->Ho : a->H;
    j.Wi = adjoint ? a->Wo : a->W;
    j.Ci = adjoint ? a->Co : a->Ci;
    j.Ho = adjoint ? a->H : a->Ho;
    j.Wo = adjoint ? a->W : a->Wo;
    j.Co = adjoint ? a->Ci : a->Co;
    j.phases = adjoint ? a->S : 1;
    j.NR = j.Co <= DG_LANES ? DG_LANES : 2 * DG_LANES;
    j.blocks = dg_ceil_div(j.Co, j.NR);
    j.panel_count = (size_t)j.K * (size_t)j.K * (size_t)j.Ci * (size_t)j.blocks * (size_t)j.NR;

    size_t row = (size_t)j.Wi * (size_t)j.Ci * DG_MR; /* reals of one packed input row */
    j.rows = j.Ho;
    while (j.rows > 1 && (size_t)band_height(&j, j.rows) * row * sizeof(real) > BAND_BYTES) j.rows = (j.rows + 1) / 2;
    j.groups = dg_ceil_div(j.N, DG_MR);
    j.bands = dg_ceil_div(j.Ho, j.rows);
    j.band_count = (size_t)band_height(&j, j.rows) * row;
    j.units = j.groups * j.bands;
    j.team = dg_min(j.units, DG_TEAM);
    return j;
}

/* Start of the panels of phase (py, px): phases lie one after another, each with its own number of taps. */
static size_t phase_start(const job *j, int py, int px)
{
    size_t taps = 0;
    for (int q = 0; q < py; q++) taps += (size_t)phase_taps(j, q) * (size_t)j->K;
    for (int q = 0; q < px; q++) taps += (size_t)phase_taps(j, py) * (size_t)phase_taps(j, q);
    return taps * (size_t)j->Ci * (size_t)j->blocks * (size_t)j->NR;
}

/* One tap of one block: Ci rows of NR weights, zeros behind the last channel. */
static void pack_tap(const job *j, real *restrict to, int block, int ky, int kx)
{
    int n0 = block * j->NR, n = dg_min(j->NR, j->Co - n0);
    ptrdiff_t step = (ptrdiff_t)j->K * j->K * (j->adjoint ? j->Co : j->Ci); /* between co of w[co][ky][kx][ci] */
    ptrdiff_t tap = ((ptrdiff_t)ky * j->K + kx) * (j->adjoint ? j->Co : j->Ci);
    for (int c = 0; c < j->Ci; c++, to += j->NR) {
        if (j->adjoint) {
            memcpy(to, j->w + c * step + tap + n0, (size_t)n * sizeof(real));
        } else {
            const real *from = j->w + n0 * step + tap + c;
            for (int i = 0; i < n; i++) to[i] = from[i * step];
        }
        for (int i = n; i < j->NR; i++) to[i] = 0;
    }
}

static void pack_weights(const job *j, real *panel)
{
    int axes = j->phases * j->phases;
#pragma omp for collapse(2) schedule(static)
    for (int phase = 0; phase < axes; phase++) {
        for (int block = 0; block < j->blocks; block++) {
            int py = phase / j->phases, px = phase % j->phases;
            int ty = phase_taps(j, py), tx = phase_taps(j, px);
            size_t tap = (size_t)j->Ci * (size_t)j->NR;
            real *to = panel + phase_start(j, py, px) + (size_t)block * (size_t)(ty * tx) * tap;
            for (int y = 0; y < ty; y++) {
                for (int x = 0; x < tx; x++, to += tap) {
                    if (j->adjoint)
                        pack_tap(j, to, block, py + j->S * (ty - 1 - y), px + j->S * (tx - 1 - x));
                    else
                        pack_tap(j, to, block, y, x);
                }
            }
        }
    }
}

/* to[e][i] = image i's value e, zeros for images that do not exist. */
static void pack_rows(const job *j, real *restrict to, int n0, int lo, int hi)
{
    size_t image = (size_t)j->Hi * (size_t)j->Wi * (size_t)j->Ci, row = (size_t)j->Wi * (size_t)j->Ci;
    const real *from = j->in + (size_t)n0 * image + (size_t)lo * row;
    size_t count = (size_t)(hi - lo) * row;
    int images = dg_min(DG_MR, j->N - n0);
    if (images == DG_MR) {
        for (size_t e = 0; e < count; e++)
            DG_UNROLL for (size_t i = 0; i < DG_MR; i++) to[e * DG_MR + i] = from[i * image + e];
        return;
    }
    for (size_t e = 0; e < count; e++) {
        for (size_t i = 0; i < (size_t)images; i++) to[e * DG_MR + i] = from[i * image + e];
        for (size_t i = (size_t)images; i < DG_MR; i++) to[e * DG_MR + i] = 0;
    }
}

enum { RUNS = 16 };

/* One tile: DG_MR images, one block of channels, one pixel. */
static void tile(const job *j, const real *band, int lo, const real *panel, int n0, int block, int oy, span y, int ox)
{
    span x = axis_span(j, ox, j->Wi);
    int tx = phase_taps(j, x.phase), ty = phase_taps(j, y.phase);
    size_t tap = (size_t)j->Ci * (size_t)j->NR;
    const real *b = panel + phase_start(j, y.phase, x.phase) + (size_t)block * (size_t)(ty * tx) * tap;

    int c0 = block * j->NR, channels = dg_min(j->NR, j->Co - c0), images = dg_min(DG_MR, j->N - n0);
    ptrdiff_t image = (ptrdiff_t)j->Ho * j->Wo * j->Co;
    real *out = j->out + n0 * image + ((ptrdiff_t)oy * j->Wo + ox) * j->Co + c0;
    real edge[DG_MR * 2 * DG_LANES];
    bool whole = channels == j->NR && images == DG_MR;
    real *c = whole ? out : edge;
    ptrdiff_t ldc = whole ? image : j->NR;
    dg_micro *micro = j->NR == DG_LANES ? micro1 : micro2;

    int rows = x.count ? y.count : 0, done = 0;
    do {
        dg_run run[RUNS];
        int n = dg_min(rows - done, RUNS);
        for (int r = 0; r < n; r++) {
            int iy = y.first - lo + done + r, tap_y = y.tap + done + r;
            run[r].a = band + ((size_t)iy * (size_t)j->Wi + (size_t)x.first) * (size_t)j->Ci * DG_MR;
            run[r].b = b + (size_t)(tap_y * tx + x.tap) * tap;
            run[r].n = (ptrdiff_t)x.count * j->Ci;
        }
        micro(run, n, c, ldc, done > 0);
        done += n;
    } while (done < rows);
    if (!whole)
        for (int i = 0; i < images; i++) memcpy(out + i * image, edge + i * j->NR, (size_t)channels * sizeof(real));
}

static void unit(const job *j, const real *panel, real *band, int u)
{
    int n0 = u / j->bands * DG_MR, o0 = u % j->bands * j->rows, o1 = dg_min(o0 + j->rows, j->Ho);
    int lo, hi;
    band_inputs(j, o0, o1, &lo, &hi);
    pack_rows(j, band, n0, lo, hi);
    for (int block = 0; block < j->blocks; block++)
        for (int oy = o0; oy < o1; oy++) {
            span y = axis_span(j, oy, j->Hi);
            for (int px = 0; px < j->phases; px++) /* a phase at a time: its panel stays closer */
                for (int ox = px; ox < j->Wo; ox += j->phases) tile(j, band, lo, panel, n0, block, oy, y, ox);
        }
}

static size_t carve(const job *j, void *scratch, real **panel, real **bands)
{
    dg_carver c = {(uintptr_t)scratch, 0};
    *panel = dg_carve(&c, j->panel_count * sizeof(real));
    *bands = dg_carve(&c, j->band_count * (size_t)j->team * sizeof(real));
    return c.used;
}

size_t DG_CPU(dg_conv_direct_scratch)(bool adjoint, const dg_conv_args *a)
{
    job j = plan(adjoint, a);
    real *panel, *bands;
    return carve(&j, NULL, &panel, &bands);
}

void DG_CPU(dg_conv_direct)(bool adjoint, const dg_conv_args *a)
{
    job j = plan(adjoint, a);
    real *panel, *bands;
    carve(&j, a->scratch, &panel, &bands);
#pragma omp parallel num_threads(dg_min(j.team, omp_get_max_threads()))
    {
        pack_weights(&j, panel);
        real *band = bands + (size_t)omp_get_thread_num() * j.band_count;
#pragma omp for schedule(dynamic, 1)
        for (int u = 0; u < j.units; u++) unit(&j, panel, band, u);
    }
}
