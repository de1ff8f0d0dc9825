/* Resampling by 2. In each row of the result, `column()` sums every input column once, left to right. `ring` holds the
 * last RING sums. */
#include <stdbool.h>
#include <string.h>

#include "kernels/cpu/cpu.h"
#include "kernels/ops/values.h"

enum { PIECE = 64, RING = 4 };
static const real zeros[PIECE];

/* An input row; `at` points to the first channel of a piece. A row outside of the image points to zeros and has step
 * 0. */
typedef struct {
    const real *at;
    int64_t step;
} line;

INLINE line line_of(const dg_resample_args *a, int64_t image, int row, int H, int W, int c)
{
    if (row < 0 || row >= H) return (line){zeros, 0};
    return (line){(const real *)a->x + (image * H + row) * W * a->C + c, a->C};
}

/* Sums column x over two rows with weights 3 1 (up), or over four rows with weights 1 3 3 1. */
INLINE void column(real *restrict out, const line *l, const bool up, int x, int W, int n)
{
    if (x < 0 || x >= W) {
        memset(out, 0, (size_t)n * sizeof(real));
        return;
    }
    const real *a = l[0].at + x * l[0].step, *b = l[1].at + x * l[1].step;
    const real *c = up ? zeros : l[2].at + x * l[2].step, *d = up ? zeros : l[3].at + x * l[3].step;
#pragma omp simd
    for (int k = 0; k < n; k++) out[k] = up ? 3 * a[k] + b[k] : (a[k] + d[k]) + 3 * (b[k] + c[k]);
}

INLINE void up_row(const dg_resample_args *a, int64_t row, int c, int n, real factor)
{
    const int64_t image = row / a->H2;
    const int y = (int)(row % a->H2), near = y / 2, far = near + (y % 2 ? 1 : -1);
    const line l[2] = {line_of(a, image, near, a->H, a->W, c), line_of(a, image, far, a->H, a->W, c)};
    real ring[RING][PIECE];
    column(ring[RING - 1], l, true, -1, a->W, n);
    column(ring[0], l, true, 0, a->W, n);
    for (int x = 0; x < a->W; x++) {
        column(ring[(x + 1) % RING], l, true, x + 1, a->W, n);
        const real *left = ring[(x + RING - 1) % RING], *own = ring[x % RING], *right = ring[(x + 1) % RING];
        real *restrict y0 = (real *)a->y + (row * a->W2 + 2 * x) * a->C + c, *restrict y1 = y0 + a->C;
#pragma omp simd
        for (int k = 0; k < n; k++) {
            y0[k] = (3 * own[k] + left[k]) * factor;
            y1[k] = (3 * own[k] + right[k]) * factor;
        }
    }
}

INLINE void down_row(const dg_resample_args *a, int64_t row, int c, int n, real factor)
{
    const int64_t image = row / a->H;
    line l[4];
    for (int k = 0; k < 4; k++) l[k] = line_of(a, image, (int)(row % a->H) * 2 - 1 + k, a->H2, a->W2, c);
    real ring[RING][PIECE]; /* column x is ring[(x + 1) % RING] */
    for (int x = -1; x < 1; x++) column(ring[x + 1], l, false, x, a->W2, n);
    for (int x = 0; x < a->W2; x += 2) {
        for (int k = 1; k < 3; k++) column(ring[(x + k + 1) % RING], l, false, x + k, a->W2, n);
        const real *first = ring[x % RING], *second = ring[(x + 1) % RING], *third = ring[(x + 2) % RING],
                   *last = ring[(x + 3) % RING];
        real *restrict y = (real *)a->y + (row * a->W + x / 2) * a->C + c;
#pragma omp simd
        for (int k = 0; k < n; k++) y[k] = ((first[k] + last[k]) + 3 * (second[k] + third[k])) * factor;
    }
}

/* Minimum number of values of the larger image for which several threads are faster. */
enum { MANY = 1 << 15 };

#define OP(name, rows, up, one_row)                                                                          \
    DG_CPU_OP(name, resample)                                                                                \
    {                                                                                                        \
        const int64_t n = (int64_t)a->N * (rows);                                                            \
        const real factor = (real)dg_resample_factor(a, up);                                                 \
        _Pragma("omp parallel for schedule(static) if ((int64_t)a->N * a->H2 * a->W2 * a->C >= MANY)") for ( \
            int64_t row = 0; row < n; row++) for (int c = 0; c < a->C; c += PIECE)                           \
            one_row(a, row, c, a->C - c < PIECE ? a->C - c : PIECE, factor);                                 \
    }
OP(resample_up, a->H2, true, up_row)
OP(resample_down, a->H, false, down_row)
