/* Minimal filtering: tiles of the input to all frequencies, and back to tiles of the output. */
#include "kernels/ops/conv/cpu/conv_winograd_job.h"

#include <string.h>

typedef dg_winograd_job job;
typedef dg_winograd_axis axis;
typedef dg_winograd_piece piece;

/* The two axes of the outputs of one phase. */
static axis down_axis(const job *j, int phase)
{
    return dg_winograd_make_axis(j, j->adjoint ? phase / j->S : 0, j->Ho);
}

static axis across_axis(const job *j, int phase)
{
    return dg_winograd_make_axis(j, j->adjoint ? phase % j->S : 0, j->Wo);
}

static __attribute__((noinline)) void input4(const real *const *from, int channels, real *to, size_t step)
{
    for (ptrdiff_t c = 0; c < channels; c += DG_LANES) dg_transform_input(4, from, c, to + c, step);
}

static __attribute__((noinline)) void input2(const real *const *from, int channels, real *to, size_t step)
{
    for (ptrdiff_t c = 0; c < channels; c += DG_LANES) dg_transform_input(2, from, c, to + c, step);
}

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

/* V of a piece. All segments of a tile together: they lie between each other in memory. */
void DG_CPU(dg_winograd_inputs)(const job *j, const piece *p, real *V, int phase)
{
    axis y = down_axis(j, phase), x = across_axis(j, phase);
    ptrdiff_t size = (ptrdiff_t)j->Hi * j->Wi * j->Ci, share = size / (y.tiles * x.tiles + 1);
    for (int n = p->n0; n < p->n0 + p->images; n++) {
        const real *image = j->in + n * size;
        for (int ty = p->row0; ty < dg_min(p->row0 + p->rows, y.tiles); ty++)
            for (int tx = 0; tx < x.tiles; tx++, V += j->lda) {
                if (phase == 0) dg_fetch(image + ((ty + 1) * x.tiles + tx) * share, share, j->in + j->N * size);
                int y0 = y.in_step * j->m * ty + y.in_at, x0 = x.in_step * j->m * tx + x.in_at;
                for (int s = 0; s < j->segments; s++)
                    input_tile(j, image, y0 + s / j->S, x0 + s % j->S, y.in_step, V + s * j->ci);
            }
    }
}

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
    DG_UNROLL for (int i = 0; i < m; i++) DG_UNROLL for (int k = 0; k < m; k++) *
        (dg_vec *)(to + i * row + k * pixel) = out[i * m + k];
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
    if (j->m == 4) transform_output(4, from, j->m_step, out);
    else transform_output(2, from, j->m_step, out);
    for (int i = 0; i < high; i++)
        for (int k = 0; k < wide; k++)
            memcpy(to + i * row + k * pixel, &out[i * j->m + k], (size_t)channels * sizeof(real));
}

void DG_CPU(dg_winograd_outputs)(const job *j, const piece *p, const real *M, int phase, int block)
{
    axis y = down_axis(j, phase), x = across_axis(j, phase);
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
                    else if (j->m == 4) output4(M + c, j->m_step, to, row, pixel);
                    else output2(M + c, j->m_step, to, row, pixel);
                }
            }
}
