/* Grouped convolution with stride 1: forward, data gradient, weight gradient. One tap of a group is a small matrix: 16
 * x 16 for 16 channels per group. The matrix stays in registers while it is applied to the pixels of a row. */
#include <stdbool.h>
#include <string.h>

#include "kernels/cpu/cpu.h"

enum { LANES = 16, PIECES = 8, MANY = 1 << 15 };

static int pieces_of(const dg_group_args *a) { return a->N < PIECES ? a->N : PIECES; }

size_t DG_CPU(dg_cpu_scratch_group)(const dg_op *op)
{
    const dg_group_args *a = &op->u.group;
    const size_t weights = (size_t)a->Co * (size_t)a->K * (size_t)a->K * (size_t)a->Cg * sizeof(real);
    return op->kind == DG_OP_group_dw ? weights * (size_t)pieces_of(a) : weights;
}

/* Input and result of a direction. `all`: channels; `each`: channels per group. */
typedef struct {
    const real *in;
    real *out;
    int in_rows, in_cols, in_all, in_each, rows, cols, all, each;
    int sign; /* tap k of result pixel p reads input pixel p + sign (k - P) */
} direction;

/* Packs the weights into scratch memory as (group, tap, input channel, output channel). */
static void pack(const dg_group_args *a, bool adjoint)
{
    const int taps = a->K * a->K, Cg = a->Cg, each = a->Co / a->groups;
    const real *w = a->w;
    real *to = a->scratch;
    for (int co = 0; co < a->Co; co++)
        for (int tap = 0; tap < taps; tap++) {
            const int64_t matrix = ((int64_t)(co / each) * taps + tap) * each * Cg;
            for (int ci = 0; ci < Cg; ci++)
                to[matrix + (adjoint ? (int64_t)(co % each) * Cg + ci : (int64_t)ci * each + co % each)] =
                    w[((int64_t)co * taps + tap) * Cg + ci];
        }
}

/* Adds the product in * w to `out`, for `pixels` pixels. A pixel has `terms` input channels and n output channels, at
 * most LANES. */
INLINE void apply(const direction *d, real *restrict out, const real *restrict in, const real *restrict w, int pixels,
                  const int terms, const int n)
{
    for (int p = 0; p < pixels; p++, out += d->all, in += d->in_all) {
        real sum[LANES];
        for (int k = 0; k < n; k++) sum[k] = out[k];
        for (int i = 0; i < terms; i++)
#pragma omp simd
            for (int k = 0; k < n; k++) sum[k] += in[i] * w[i * d->each + k];
        for (int k = 0; k < n; k++) out[k] = sum[k];
    }
}

/* Applies the matrix of a tap to a row. Skips result pixels whose input pixel is outside of the image. */
static void tap_of_row(const direction *d, real *out, const real *in, const real *w, int shift)
{
    const int first = shift < 0 ? -shift : 0, end = d->in_cols - shift, last = end < d->cols ? end : d->cols;
    if (last <= first) return;
    out += (int64_t)first * d->all;
    in += (int64_t)(first + shift) * d->in_all;
    for (int c = 0; c < d->each; c += LANES) {
        const int n = d->each - c < LANES ? d->each - c : LANES;
        if (d->each == LANES && d->in_each == LANES) {
            direction known = *d;
            known.each = LANES;
            apply(&known, out, in, w, last - first, LANES, LANES);
        } else {
            apply(d, out + c, in, w + c, last - first, d->in_each, n);
        }
    }
}

static void row_of(const dg_group_args *a, const direction *d, int64_t row)
{
    const int64_t image = row / d->rows;
    real *out = d->out + row * d->cols * d->all;
    memset(out, 0, (size_t)d->cols * (size_t)d->all * sizeof(real));
    for (int g = 0; g < a->groups; g++)
        for (int ky = 0; ky < a->K; ky++) {
            const int from = (int)(row % d->rows) + d->sign * (ky - a->P);
            if (from < 0 || from >= d->in_rows) continue;
            const real *in = d->in + ((image * d->in_rows + from) * d->in_cols) * d->in_all + (int64_t)g * d->in_each;
            for (int kx = 0; kx < a->K; kx++)
                tap_of_row(d, out + (int64_t)g * d->each, in,
                           (const real *)a->scratch +
                               ((int64_t)g * a->K * a->K + ky * a->K + kx) * d->in_each * d->each,
                           d->sign * (kx - a->P));
        }
}

static void rows(const dg_group_args *a, const direction *d)
{
    const int64_t n = (int64_t)a->N * d->rows;
    pack(a, d->sign < 0);
#pragma omp parallel for schedule(static) if (n * d->cols * d->all >= MANY)
    for (int64_t row = 0; row < n; row++) row_of(a, d, row);
}

DG_CPU_OP(group_fwd, group)
{
    rows(a, &(direction){a->x, a->y, a->H, a->W, a->Ci, a->Cg, a->Ho, a->Wo, a->Co, a->Co / a->groups, 1});
}

DG_CPU_OP(group_dx, group)
{
    rows(a, &(direction){a->y, a->x, a->Ho, a->Wo, a->Co, a->Co / a->groups, a->H, a->W, a->Ci, a->Cg, -1});
}

/* Adds y[co] * x[ci] to sum[co][ci], for `pixels` pixels, m channels of y and n channels of x. */
INLINE void products(const dg_group_args *a, real sum[LANES][LANES], const real *restrict y, const real *restrict x,
                     int pixels, const int m, const int n)
{
    for (int p = 0; p < pixels; p++, y += a->Co, x += a->Ci)
        for (int j = 0; j < m; j++)
#pragma omp simd
            for (int k = 0; k < n; k++) sum[j][k] += y[j] * x[k];
}

/* Computes the gradient of m x n weights of a tap, from (co, ci) on. Sums images from .. to - 1. */
static void weights_of_tap(const dg_group_args *a, real sum[LANES][LANES], int tap, int from, int to, int co, int ci,
                           int m, int n)
{
    const int dy = tap / a->K - a->P, dx = tap % a->K - a->P;
    const int first = dx < 0 ? -dx : 0, last = a->W - dx < a->Wo ? a->W - dx : a->Wo;
    memset(sum, 0, sizeof(real) * LANES * LANES);
    for (int image = from; image < to; image++)
        for (int row = 0; row < a->Ho && first < last; row++) {
            if (row + dy < 0 || row + dy >= a->H) continue;
            const real *y = (const real *)a->y + (((int64_t)image * a->Ho + row) * a->Wo + first) * a->Co + co;
            const real *x = (const real *)a->x + (((int64_t)image * a->H + row + dy) * a->W + first + dx) * a->Ci + ci;
            if (m == LANES && n == LANES) products(a, sum, y, x, last - first, LANES, LANES);
            else products(a, sum, y, x, last - first, m, n);
        }
}

static void weights_of_piece(const dg_group_args *a, int piece, int g)
{
    const int pieces = pieces_of(a), taps = a->K * a->K, each = a->Co / a->groups;
    const int from = (int)((int64_t)a->N * piece / pieces), to = (int)((int64_t)a->N * (piece + 1) / pieces);
    real *out = (real *)a->scratch + (int64_t)piece * a->Co * taps * a->Cg;
    for (int tap = 0; tap < taps; tap++)
        for (int j = 0; j < each; j += LANES)
            for (int k = 0; k < a->Cg; k += LANES) {
                real sum[LANES][LANES];
                const int m = each - j < LANES ? each - j : LANES, n = a->Cg - k < LANES ? a->Cg - k : LANES;
                weights_of_tap(a, sum, tap, from, to, g * each + j, g * a->Cg + k, m, n);
                for (int i = 0; i < m; i++)
                    memcpy(out + ((int64_t)(g * each + j + i) * taps + tap) * a->Cg + k, sum[i],
                           (size_t)n * sizeof(real));
            }
}

DG_CPU_OP(group_dw, group)
{
    const int pieces = pieces_of(a);
    const int64_t weights = (int64_t)a->Co * a->K * a->K * a->Cg;
#pragma omp parallel for schedule(static) collapse(2) if ((int64_t)a->N * a->Ho * a->Wo * a->Co >= MANY)
    for (int piece = 0; piece < pieces; piece++)
        for (int g = 0; g < a->groups; g++) weights_of_piece(a, piece, g);
    real *restrict w = a->w;
    const real *restrict part = a->scratch;
    memcpy(w, part, (size_t)weights * sizeof(real));
    for (int piece = 1; piece < pieces; piece++)
#pragma omp simd
        for (int64_t i = 0; i < weights; i++) w[i] += part[piece * weights + i];
}
