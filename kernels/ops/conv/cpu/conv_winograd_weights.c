/* Minimal filtering: the weights of one block of channels, transformed. */
#include "kernels/ops/conv/cpu/conv_winograd_job.h"

typedef dg_winograd_job job;

/* The 2 x 2 taps g of DG_SQUARE channels to all frequencies: to[f * step]. */
DG_INLINE void transform_taps(const int m, const dg_square_row g[4], real *to, size_t step)
{
    dg_square_row column[2][DG_POINTS];
    dg_slim_taps(m, g[0], g[2], column[0]);
    dg_slim_taps(m, g[1], g[3], column[1]);
    DG_UNROLL for (int r = 0; r <= m; r++)
    {
        dg_square_row u[DG_POINTS];
        dg_slim_taps(m, column[0][r], column[1][r], u);
        DG_UNROLL for (int s = 0; s <= m; s++) * (dg_square_row *)(to + (size_t)(r * (m + 1) + s) * step) = u[s];
    }
}

static void taps(const job *j, const dg_square_row g[4], real *to, size_t step)
{
    if (j->m == 4) transform_taps(4, g, to, step);
    else transform_taps(2, g, to, step);
}

static dg_square_row load_some(const real *from, int n)
{
    real all[DG_SQUARE] = {0};
    if (n >= DG_SQUARE) return *(const dg_square_row *)from;
    for (int i = 0; i < n; i++) all[i] = from[i];
    return *(const dg_square_row *)all;
}

/* Forward: U of DG_SQUARE output channels co0.. and one input phase; vectors of w run over ci, those of U over co. */
static void weights_forward(const job *j, real *panel, int co0, int py, int px)
{
    int K = 2 * j->S, n = dg_min(DG_SQUARE, j->Co - co0);
    for (int c0 = 0; c0 < j->ci; c0 += DG_SQUARE) {
        dg_square_row all[4][DG_SQUARE];
        for (int t = 0; t < 4; t++) {
            for (int i = 0; i < DG_SQUARE; i++) {
                if (i >= n) {
                    all[t][i] = (dg_square_row){0};
                    continue;
                }
                ptrdiff_t tap = (ptrdiff_t)(t / 2 * j->S + py) * K + t % 2 * j->S + px;
                all[t][i] = load_some(j->w + ((ptrdiff_t)(co0 + i) * K * K + tap) * j->Ci + c0, j->Ci - c0);
            }
            dg_transpose(all[t]);
        }
        for (int k = 0; k < DG_SQUARE; k++) {
            dg_square_row g[4] = {all[0][k], all[1][k], all[2][k], all[3][k]};
            size_t term = (size_t)((py * j->S + px) * j->ci + c0 + k);
            taps(j, g, panel + term * (size_t)j->NR + co0 % j->NR, j->u_step);
        }
    }
}

/* Backward: U of one output phase and block; taps in falling order, vectors over the channels of x. */
static void weights_backward(const job *j, real *panel, int block, int py, int px)
{
    int K = 2 * j->S;
    for (int c = 0; c < j->ci; c++) {
        for (int i = 0; i < j->NR; i += DG_SQUARE) {
            int n0 = block * j->NR + i;
            dg_square_row g[4];
            for (int t = 0; t < 4; t++) {
                ptrdiff_t tap = (ptrdiff_t)((1 - t / 2) * j->S + py) * K + (1 - t % 2) * j->S + px;
                int n = c < j->Ci ? j->Co - n0 : 0;
                g[t] = n > 0 ? load_some(j->w + ((ptrdiff_t)c * K * K + tap) * j->Co + n0, n) : (dg_square_row){0};
            }
            taps(j, g, panel + (size_t)c * (size_t)j->NR + i, j->u_step);
        }
    }
}

/* U of one phase and block. */
void DG_CPU(dg_winograd_weights)(const job *j, real *U, int phase, int block)
{
    if (j->adjoint) {
        weights_backward(j, U, block, phase / j->S, phase % j->S);
        return;
    }
    for (int part = 0; part < j->NR / DG_SQUARE; part++)
        for (int p = 0; p < j->segments; p++)
            weights_forward(j, U, block * j->NR + part * DG_SQUARE, p / j->S, p % j->S);
}
