/* Winograd transforms: tiles of the input to frequencies, frequencies to tiles of the output. */
#include "kernels/ops/conv/cpu/conv_winograd_job.h"

#include <string.h>

typedef dg_winograd_job job;
typedef dg_winograd_grid grid;
typedef dg_winograd_piece piece;

/* Transforms one vector of channels, from channel c on, of the n x n inputs of a tile. Frequency f is stored at to[f *
 * step]. */
DG_INLINE void transform_input(const int n, const real *const *from, ptrdiff_t c, real *to, size_t step)
{
    dg_vec t[DG_POINTS][DG_POINTS];
    DG_UNROLL for (int s = 0; s < n; s++)
    {
        dg_vec d[DG_POINTS], v[DG_POINTS];
        /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): the caller sets all n x n pointers */
        DG_UNROLL for (int r = 0; r < n; r++) d[r] = *(const dg_vec *)(from[r * n + s] + c);
        dg_wide_input(n, d, v);
        DG_UNROLL for (int r = 0; r < n; r++) t[r][s] = v[r];
    }
    DG_UNROLL for (int r = 0; r < n; r++)
    {
        dg_vec v[DG_POINTS];
        dg_wide_input(n, t[r], v);
        DG_UNROLL for (int s = 0; s < n; s++) * (dg_vec *)(to + (size_t)(r * n + s) * step) = v[s];
    }
}

DG_BY_VECTORS(input, transform_input, 5)
DG_BY_VECTORS(input, transform_input, 6)

void DG_CPU(dg_winograd_input)(const dg_winograd_image *im, int n, int y0, int x0, int at, int channels, real *to,
                               size_t step)
{
    const real *from[DG_POINTS * DG_POINTS];
    for (int r = 0; r < n; r++)
        for (int s = 0; s < n; s++) {
            int iy = y0 + r * at, ix = x0 + s * at;
            bool in = iy >= 0 && iy < im->H && ix >= 0 && ix < im->W;
            from[r * n + s] = in ? im->image + ((ptrdiff_t)iy * im->W + ix) * im->C : im->zeros;
        }
    dg_whole_and_rest(n == 6 ? input6 : input5, from, n * n, channels, to, step);
}

/* The input phases (segments) of a tile are transformed together, because they are interleaved in memory. */
void DG_CPU(dg_winograd_inputs)(const job *j, const piece *p, real *V, int phase)
{
    const grid g = dg_winograd_make_grid(j, phase);
    if (g.tiles == 0) return;
    ptrdiff_t size = (ptrdiff_t)j->Hi * j->Wi * j->Ci, share = size / (g.tiles + 1);
    for (int t = p->first; t < p->first + p->count; t++, V += j->lda) {
        const real *image = j->in + t / g.tiles * size;
        const dg_winograd_image im = {image, j->zeros, j->Hi, j->Wi, j->Ci};
        int ty = t % g.tiles / g.x.tiles, tx = t % g.tiles % g.x.tiles;
        if (phase == 0) dg_fetch(image + ((ty + 1) * g.x.tiles + tx) * share, share, j->in + j->N * size);
        int y0 = g.y.in_step * DG_TILE * ty + g.y.in_at, x0 = g.x.in_step * DG_TILE * tx + g.x.in_at;
        for (int s = 0; s < j->segments; s++) DG_CPU(dg_winograd_input)
        (&im, j->n, y0 + s / j->S, x0 + s % j->S, g.y.in_step, j->Ci, V + s * j->ci, j->v_step);
    }
}

DG_INLINE void transform_output(const int n, const real *from, size_t step, dg_vec *out)
{
    dg_vec t[4][DG_POINTS];
    DG_UNROLL for (int s = 0; s < n; s++)
    {
        dg_vec u[DG_POINTS], y[4];
        DG_UNROLL for (int r = 0; r < n; r++) u[r] = *(const dg_vec *)(from + (size_t)(r * n + s) * step);
        dg_wide_output(n, u, y);
        DG_UNROLL for (int i = 0; i < DG_TILE; i++) t[i][s] = y[i];
    }
    DG_UNROLL for (int i = 0; i < DG_TILE; i++) dg_wide_output(n, t[i], out + i * DG_TILE);
}

#define OUTPUT(n)                                                                                           \
    static __attribute__((noinline)) void output##n(const real *from, size_t step, real *to, ptrdiff_t row, \
                                                    ptrdiff_t pixel)                                        \
    {                                                                                                       \
        dg_vec out[DG_TILE * DG_TILE];                                                                      \
        transform_output(n, from, step, out);                                                               \
        DG_UNROLL for (int i = 0; i < DG_TILE; i++) DG_UNROLL for (int k = 0; k < DG_TILE; k++) *           \
            (dg_vec *)(to + i * row + k * pixel) = out[i * DG_TILE + k];                                    \
    }
OUTPUT(5)
OUTPUT(6)

/* Stores one cache line of channels by non-temporal stores. The tile must be entirely inside the output. */
#define OUTPUT_LINES(n)                                                                                    \
    static __attribute__((noinline)) void lines##n(const real *from, size_t step, real *to, ptrdiff_t row, \
                                                   ptrdiff_t pixel)                                        \
    {                                                                                                      \
        enum { all = DG_LINE / DG_LANES };                                                                 \
        dg_vec out[all][DG_TILE * DG_TILE];                                                                \
        for (int v = 0; v < all; v++) transform_output(n, from + v * DG_LANES, step, out[v]);              \
        for (int i = 0; i < DG_TILE; i++)                                                                  \
            DG_UNROLL for (int k = 0; k < DG_TILE; k++) DG_UNROLL for (int v = 0; v < all; v++)            \
                dg_stream(to + i * row + k * pixel + v * DG_LANES, out[v][i * DG_TILE + k]);               \
    }
OUTPUT_LINES(5)
OUTPUT_LINES(6)

static __attribute__((noinline)) void output_clipped(const job *j, const real *from, real *to, ptrdiff_t row,
                                                     ptrdiff_t pixel, int high, int wide, int channels)
{
    dg_vec out[16];
    if (j->n == 6) transform_output(6, from, j->m_step, out);
    else transform_output(5, from, j->m_step, out);
    for (int i = 0; i < high; i++)
        for (int k = 0; k < wide; k++)
            memcpy(to + i * row + k * pixel, &out[i * DG_TILE + k], (size_t)channels * sizeof(real));
}

static void output_tile(const job *j, const grid *g, const real *M, int block, int n, int oy, int ox)
{
    ptrdiff_t row = (ptrdiff_t)g->y.out_step * j->Wo * j->Co, pixel = (ptrdiff_t)g->x.out_step * j->Co;
    int high = dg_min(DG_TILE, dg_ceil_div(j->Ho - oy, g->y.out_step));
    int wide = dg_min(DG_TILE, dg_ceil_div(j->Wo - ox, g->x.out_step));
    if (j->stream && high == DG_TILE && wide == DG_TILE && (block + 1) * j->NR <= j->Co) {
        real *to = j->out + (((ptrdiff_t)n * j->Ho + oy) * j->Wo + ox) * j->Co + block * j->NR;
        for (int c = 0; c < j->NR; c += DG_LINE) (j->n == 6 ? lines6 : lines5)(M + c, j->m_step, to + c, row, pixel);
        return;
    }
    for (int c = 0; c < j->NR; c += DG_LANES) {
        int c0 = block * j->NR + c, channels = dg_min(DG_LANES, j->Co - c0);
        if (channels <= 0) break;
        real *to = j->out + (((ptrdiff_t)n * j->Ho + oy) * j->Wo + ox) * j->Co + c0;
        if (high < DG_TILE || wide < DG_TILE || channels < DG_LANES)
            output_clipped(j, M + c, to, row, pixel, high, wide, channels);
        else (j->n == 6 ? output6 : output5)(M + c, j->m_step, to, row, pixel);
    }
}

void DG_CPU(dg_winograd_outputs)(const job *j, const piece *p, const real *M, int phase, int block)
{
    const grid g = dg_winograd_make_grid(j, phase);
    if (g.tiles == 0) return;
    for (int t = p->first; t < p->first + p->count; t++, M += j->NR) {
        int ty = t % g.tiles / g.x.tiles, tx = t % g.tiles % g.x.tiles;
        output_tile(j, &g, M, block, t / g.tiles, g.y.out_step * DG_TILE * ty + g.y.out_at,
                    g.x.out_step * DG_TILE * tx + g.x.out_at);
    }
}
