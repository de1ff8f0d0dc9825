/* Minimal filtering for two taps, F(m,2): m outputs of a 2-tap correlation from m+1 products instead of 2m.
 *
 *     y[i] = sum over p < 2 of g[p] d[i+p], i < m:    y = A' ((G g) * (B' d))
 *     g[p] = sum over i < m of d[i+p] y[i]:           g = G' ((A y) * (B' d))        the same products, transposed
 *
 * m = 4 evaluates at a, -a, b, -b and infinity, a = 5/4 and b = 3/8, the best of such pairs for fp32: half the error of
 * the usual 0, 1, -1, 2 and infinity, three quarters of that of 1 and 1/2, for one or two operations more (Barabasz et
 * al. 2020, "Error analysis and improving the accuracy of Winograd convolution", for the method). m = 2 evaluates at 0,
 * 1 and infinity, with errors like the direct sum. In two dimensions both are applied to columns, then to rows. A
 * convolution with K = 2S is S x S such filters, one for each phase of the input (forward) or of the output (backward).
 * Winograd 1980, "Arithmetic complexity of computations"; Lavin & Gray 2016, "Fast algorithms for convolutional
 * neural networks". */
#ifndef DG_CONV_WINOGRAD_H
#define DG_CONV_WINOGRAD_H

#include "kernels/ops/conv/cpu/conv_pack.h"
#include "kernels/ops/conv/cpu/conv_internal.h"

enum { DG_POINTS = 5 }; /* at most: m + 1 */

/* The points of m = 4 and what divides their products; powers of them up to the third are exact. */
#define DG_A ((real)1.25)
#define DG_B ((real)0.375)
#define DG_C ((real)(1 / (2 * (1.25 * 1.25 - 0.375 * 0.375))))

/* These serve both register types: dg_vec and dg_square_row. m is a constant wherever they are inlined. */
#define DG_WINOGRAD(VEC, name)                                                  \
    /* v = B' d: m+1 inputs to m+1 products */                                  \
    DG_INLINE void name##_input(const int m, const VEC *d, VEC *v)              \
    {                                                                           \
        if (m == 2) {                                                           \
            v[0] = d[0] - d[1];                                                 \
            v[1] = d[1];                                                        \
            v[2] = d[2] - d[1];                                                 \
            return;                                                             \
        }                                                                       \
        VEC p = d[3] - DG_B * DG_B * d[1], q = d[2] - DG_B * DG_B * d[0];       \
        VEC e = d[3] - DG_A * DG_A * d[1], o = d[2] - DG_A * DG_A * d[0];       \
        v[0] = p + DG_A * q;                                                    \
        v[1] = p - DG_A * q;                                                    \
        v[2] = e + DG_B * o;                                                    \
        v[3] = e - DG_B * o;                                                    \
        v[4] = (d[4] - DG_A * DG_A * d[2]) - DG_B * DG_B * o;                   \
    }                                                                           \
    /* u = G g: 2 taps to m+1 products */                                       \
    DG_INLINE void name##_taps(const int m, VEC a, VEC b, VEC *u)               \
    {                                                                           \
        if (m == 2) {                                                           \
            u[0] = a;                                                           \
            u[1] = a + b;                                                       \
            u[2] = b;                                                           \
            return;                                                             \
        }                                                                       \
        VEC p = DG_C / DG_A * a, q = DG_C / DG_B * a;                           \
        u[0] = DG_C * b + p;                                                    \
        u[1] = DG_C * b - p;                                                    \
        u[2] = -DG_C * b - q;                                                   \
        u[3] = -DG_C * b + q;                                                   \
        u[4] = b;                                                               \
    }                                                                           \
    /* y = A' u: m+1 products to m outputs */                                   \
    DG_INLINE void name##_output(const int m, const VEC *u, VEC *y)             \
    {                                                                           \
        if (m == 2) {                                                           \
            y[0] = u[0] + u[1];                                                 \
            y[1] = u[1] + u[2];                                                 \
            return;                                                             \
        }                                                                       \
        VEC p = u[0] + u[1], q = u[0] - u[1], r = u[2] + u[3], t = u[2] - u[3]; \
        y[0] = p + r;                                                           \
        y[1] = DG_A * q + DG_B * t;                                             \
        y[2] = DG_A * DG_A * p + DG_B * DG_B * r;                               \
        y[3] = DG_A * DG_A * DG_A * q + (DG_B * DG_B * DG_B * t + u[4]);        \
    }                                                                           \
    /* z = A y: m outputs to m+1 products */                                    \
    DG_INLINE void name##_outputs_back(const int m, const VEC *y, VEC *z)       \
    {                                                                           \
        if (m == 2) {                                                           \
            z[0] = y[0];                                                        \
            z[1] = y[0] + y[1];                                                 \
            z[2] = y[1];                                                        \
            return;                                                             \
        }                                                                       \
        VEC e = y[0] + DG_A * DG_A * y[2], o = y[1] + DG_A * DG_A * y[3];       \
        VEC p = y[0] + DG_B * DG_B * y[2], q = y[1] + DG_B * DG_B * y[3];       \
        z[0] = e + DG_A * o;                                                    \
        z[1] = e - DG_A * o;                                                    \
        z[2] = p + DG_B * q;                                                    \
        z[3] = p - DG_B * q;                                                    \
        z[4] = y[3];                                                            \
    }                                                                           \
    /* g = G' u: m+1 products to 2 taps */                                      \
    DG_INLINE void name##_taps_back(const int m, const VEC *u, VEC *g)          \
    {                                                                           \
        if (m == 2) {                                                           \
            g[0] = u[0] + u[1];                                                 \
            g[1] = u[1] + u[2];                                                 \
            return;                                                             \
        }                                                                       \
        g[0] = DG_C / DG_A * (u[0] - u[1]) + DG_C / DG_B * (u[3] - u[2]);       \
        g[1] = DG_C * ((u[0] + u[1]) - (u[2] + u[3])) + u[4];                   \
    }

DG_WINOGRAD(dg_vec, dg_wide)
DG_WINOGRAD(dg_square_row, dg_slim)

/* (m+1) x (m+1) inputs at channels c.. to all frequencies: to[f * step]. */
DG_INLINE void dg_transform_input(const int m, const real *const *from, ptrdiff_t c, real *to, size_t step)
{
    dg_vec t[DG_POINTS][DG_POINTS];
    DG_UNROLL for (int s = 0; s <= m; s++)
    {
        dg_vec d[DG_POINTS], v[DG_POINTS];
        DG_UNROLL for (int r = 0; r <= m; r++) d[r] = *(const dg_vec *)(from[r * (m + 1) + s] + c);
        dg_wide_input(m, d, v);
        DG_UNROLL for (int r = 0; r <= m; r++) t[r][s] = v[r];
    }
    DG_UNROLL for (int r = 0; r <= m; r++)
    {
        dg_vec v[DG_POINTS];
        dg_wide_input(m, t[r], v);
        DG_UNROLL for (int s = 0; s <= m; s++) * (dg_vec *)(to + (size_t)(r * (m + 1) + s) * step) = v[s];
    }
}

/* Ask for `count` reals that are needed soon: the walk over tiles is too broken for the hardware to foresee. */
static inline void dg_fetch(const real *from, ptrdiff_t count, const real *end)
{
    if (count > end - from) count = end - from;
    for (ptrdiff_t i = 0; i < count; i += 64 / (ptrdiff_t)sizeof(real)) __builtin_prefetch(from + i, 0, 2);
}

/* Distance between arrays that are walked together: an odd number of cache lines, as multiples of 4 KB would
 * share the same few places of L1. */
static inline size_t dg_odd_lines(size_t reals)
{
    size_t line = 64 / sizeof(real);
    return ((reals + line - 1) / line | 1) * line;
}

/* m for outputs of this size: the larger tile if not too much of it hangs over the edge. */
static inline int dg_winograd_tile(int H, int W)
{
    int big = dg_ceil_div(H, 4) * dg_ceil_div(W, 4) * 25, small = dg_ceil_div(H, 2) * dg_ceil_div(W, 2) * 9;
    return big <= small ? 4 : 2;
}

#endif
