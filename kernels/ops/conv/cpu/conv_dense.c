/* Forward pass of a dense layer with few rows: y[R][Co] = x[R][T] w[Co][T]', computed as inner products. Rows of x and
 * w are read without packing, because packing few rows costs more than it saves. A tile is 4 rows of x by 3 rows of w.
 *
 * A unit of work is a block of rows of w. For CHUNK terms, GROUP rows of w and HIGH rows of x fit into L1. The block
 * and all rows of x fit into L2. */
#include "kernels/ops/conv/cpu/conv_internal.h"
#include "kernels/ops/conv/cpu/conv_pack.h"

enum {
    CHUNK = 512 / DG_LANES * DG_LANES,
    HIGH = 4,
    WIDE = 3,
    SUMS = (HIGH * WIDE + DG_SQUARE - 1) / DG_SQUARE * DG_SQUARE,
    GROUP = 3 * WIDE,
    BLOCK = 14 * GROUP,
    UNITS = 16,
    TERMS = 128,
    FEW = 16 /* if both x and w have more than 16 rows, packing is faster */
};

typedef struct {
    const real *at;
    ptrdiff_t stride;
    int rows;
} rows;

DG_INLINE const real *row(rows r, int i) { return r.at + (i < r.rows ? i : r.rows - 1) * r.stride; }

static __attribute__((noinline)) void tile(rows x, rows w, ptrdiff_t n, real sum[SUMS])
{
    const real *xs[HIGH], *ws[WIDE];
    dg_vec acc[HIGH * WIDE];
    DG_UNROLL for (int i = 0; i < HIGH; i++) xs[i] = row(x, i);
    DG_UNROLL for (int j = 0; j < WIDE; j++) ws[j] = row(w, j);
    DG_UNROLL for (int i = 0; i < HIGH * WIDE; i++) acc[i] = (dg_vec){0};
    ptrdiff_t k = 0;
    for (; k + DG_LANES <= n; k += DG_LANES) {
        dg_vec v[WIDE];
        DG_UNROLL for (int j = 0; j < WIDE; j++) v[j] = *(const dg_vec *)(ws[j] + k);
        DG_UNROLL for (int i = 0; i < HIGH; i++)
        {
            const dg_vec u = *(const dg_vec *)(xs[i] + k);
            DG_UNROLL for (int j = 0; j < WIDE; j++) acc[i * WIDE + j] += u * v[j];
        }
    }
    real lanes[SUMS][DG_LANES];
    DG_UNROLL for (int i = 0; i < SUMS; i++) * (dg_vec *)lanes[i] = i < HIGH * WIDE ? acc[i < HIGH * WIDE ? i : 0]
                                                                                    : (dg_vec){0};
    for (int s = 0; s < SUMS; s += DG_SQUARE) {
        dg_square_row r[DG_SQUARE];
        DG_UNROLL for (int i = 0; i < DG_SQUARE; i++)
        {
            r[i] = *(dg_square_row *)lanes[s + i];
            if (DG_LANES > DG_SQUARE) r[i] += *(dg_square_row *)(lanes[s + i] + DG_LANES - DG_SQUARE);
        }
        dg_transpose(r);
        DG_UNROLL for (int i = 1; i < DG_SQUARE; i++) r[0] += r[i];
        *(dg_square_row *)(sum + s) = r[0];
    }
    for (; k < n; k++)
        for (int i = 0; i < HIGH * WIDE; i++) sum[i] += xs[i / WIDE][k] * ws[i % WIDE][k];
}

static void group(const dg_conv_args *a, ptrdiff_t T, int c0, int c1, ptrdiff_t k, ptrdiff_t n)
{
    for (int m = 0; m < a->N; m += HIGH)
        for (int c = c0; c < c1; c += WIDE) {
            const rows x = {(const real *)a->x + m * T + k, T, dg_min(HIGH, a->N - m)};
            const rows w = {(const real *)a->w + c * T + k, T, dg_min(WIDE, c1 - c)};
            real *y = (real *)a->y + (ptrdiff_t)m * a->Co + c, sum[SUMS];
            tile(x, w, n, sum);
            for (int i = 0; i < x.rows; i++, y += a->Co)
                for (int j = 0; j < w.rows; j++) y[j] = k ? y[j] + sum[i * WIDE + j] : sum[i * WIDE + j];
        }
}

bool DG_CPU(dg_conv_is_dense)(dg_op_kind kind, const dg_conv_args *a)
{
    return kind == DG_OP_conv_fwd && a->Ho * a->Wo == 1 && (a->N <= FEW || a->Co <= FEW) &&
           (int64_t)a->K * a->K * a->Ci >= TERMS;
}

void DG_CPU(dg_conv_dense)(const dg_conv_args *a)
{
    const ptrdiff_t T = (ptrdiff_t)a->K * a->K * a->Ci;
    int block = BLOCK;
    while (block > WIDE && dg_ceil_div(a->Co, block) < UNITS) block = dg_ceil_div(block / 2, WIDE) * WIDE;
    const int units = dg_ceil_div(a->Co, block);
#pragma omp parallel for num_threads(dg_conv_team(a, units)) schedule(dynamic, 1)
    for (int u = 0; u < units; u++) {
        const int end = dg_min((u + 1) * block, a->Co);
        for (ptrdiff_t k = 0; k < T; k += CHUNK)
            for (int c = u * block; c < end; c += GROUP)
                group(a, T, c, dg_min(c + GROUP, end), k, T - k < CHUNK ? T - k : CHUNK);
    }
}
