/* Winograd transform of the weights of one block of channels. */
#include "kernels/ops/conv/cpu/conv_winograd_job.h"

typedef dg_winograd_job job;

/* Transforms the r x r taps of DG_SQUARE channels. Frequency f is stored at to[f * step]. */
DG_INLINE void transform_taps(const int n, const dg_square_row *g, real *to, size_t step)
{
    const int r = DG_TAPS_OF(n);
    dg_square_row column[DG_POINTS][DG_TAPS];
    DG_UNROLL for (int q = 0; q < r; q++)
    {
        dg_square_row tap[DG_TAPS], u[DG_POINTS];
        DG_UNROLL for (int p = 0; p < r; p++) tap[p] = g[p * r + q];
        dg_slim_taps(n, tap, u);
        DG_UNROLL for (int i = 0; i < n; i++) column[i][q] = u[i];
    }
    DG_UNROLL for (int i = 0; i < n; i++)
    {
        dg_square_row u[DG_POINTS];
        dg_slim_taps(n, column[i], u);
        DG_UNROLL for (int s = 0; s < n; s++) * (dg_square_row *)(to + (size_t)(i * n + s) * step) = u[s];
    }
}

static void taps(const job *j, const dg_square_row *g, real *to, size_t step)
{
    if (j->n == 6) transform_taps(6, g, to, step);
    else transform_taps(5, g, to, step);
}

static dg_square_row load_some(const real *from, int n)
{
    real all[DG_SQUARE] = {0};
    if (n >= DG_SQUARE) return *(const dg_square_row *)from;
    for (int i = 0; i < n; i++) all[i] = from[i];
    return *(const dg_square_row *)all;
}

/* Forward: transforms the weights of one input phase and of DG_SQUARE output channels, from co0 on. */
static void weights_forward(const job *j, real *panel, int co0, int py, int px)
{
    int r = j->taps, K = r * j->S, n = dg_min(DG_SQUARE, j->Co - co0);
    for (int c0 = 0; c0 < j->ci; c0 += DG_SQUARE) {
        dg_square_row all[DG_TAPS * DG_TAPS][DG_SQUARE];
        for (int t = 0; t < r * r; t++) {
            for (int i = 0; i < DG_SQUARE; i++) {
                if (i >= n) {
                    all[t][i] = (dg_square_row){0};
                    continue;
                }
                ptrdiff_t tap = (ptrdiff_t)(t / r * j->S + py) * K + t % r * j->S + px;
                all[t][i] = load_some(j->w + ((ptrdiff_t)(co0 + i) * K * K + tap) * j->Ci + c0, j->Ci - c0);
            }
            dg_transpose(all[t]);
        }
        for (int k = 0; k < DG_SQUARE; k++) {
            dg_square_row g[DG_TAPS * DG_TAPS];
            for (int t = 0; t < r * r; t++) g[t] = all[t][k];
            size_t term = (size_t)((py * j->S + px) * j->ci + c0 + k);
            taps(j, g, panel + term * (size_t)j->NR + co0 % j->NR, j->u_step);
        }
    }
}

/* Backward: transforms the weights of one output phase and block of channels. The taps are reversed. */
static void weights_backward(const job *j, real *panel, int block, int py, int px)
{
    int r = j->taps, K = r * j->S;
    for (int c = 0; c < j->ci; c++) {
        for (int i = 0; i < j->NR; i += DG_SQUARE) {
            int n0 = block * j->NR + i;
            dg_square_row g[DG_TAPS * DG_TAPS];
            for (int t = 0; t < r * r; t++) {
                ptrdiff_t tap = (ptrdiff_t)((r - 1 - t / r) * j->S + py) * K + (r - 1 - t % r) * j->S + px;
                int n = c < j->Ci ? j->Co - n0 : 0;
                g[t] = n > 0 ? load_some(j->w + ((ptrdiff_t)c * K * K + tap) * j->Co + n0, n) : (dg_square_row){0};
            }
            taps(j, g, panel + (size_t)c * (size_t)j->NR + i, j->u_step);
        }
    }
}

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
