/* Minimal filtering for two taps, F(m,2): m outputs of a 2-tap correlation from m+1 products instead of 2m.
 *
 *     y[i] = sum over p < 2 of g[p] d[i+p], i < m:    y = A' ((G g) * (B' d))
 *     g[p] = sum over i < m of d[i+p] y[i]:           g = G' ((A y) * (B' d))        the same products, transposed
 *
 * m = 4 evaluates at 1, -1, 1/2, -1/2 and infinity: 10 operations for 5 inputs, and half the error of the usual
 * 0, 1, -1, 2 and infinity (Barabasz et al. 2020, "Error analysis and improving the accuracy of Winograd
 * convolution"). m = 2 evaluates at 0, 1 and infinity, with errors like the direct sum. In two dimensions both are
 * applied to columns, then to rows. A convolution with K = 2S is S x S such filters, one for each phase of the
 * input (forward) or of the output (backward).
 * Winograd 1980, "Arithmetic complexity of computations"; Lavin & Gray 2016, "Fast algorithms for convolutional
 * neural networks". */
#ifndef DG_CONV_WINOGRAD_H
#define DG_CONV_WINOGRAD_H

#include "conv_pack.h"
#include "conv_parts.h"

enum { DG_POINTS = 5 }; /* at most: m + 1 */

/* These serve both register types: dg_vec and dg_square_row. m is a constant wherever they are inlined. */
#define DG_WINOGRAD(VEC, name)                                                                                \
    /* v = B' d: m+1 inputs to m+1 products */                                                                \
    DG_INLINE void name##_input(const int m, const VEC *d, VEC *v)                                            \
    {                                                                                                         \
        if (m == 2) {                                                                                         \
            v[0] = d[0] - d[1];                                                                               \
            v[1] = d[1];                                                                                      \
            v[2] = d[2] - d[1];                                                                               \
            return;                                                                                           \
        }                                                                                                     \
        VEC a = d[3] - (real)0.25 * d[1], b = d[2] - (real)0.25 * d[0];                                       \
        VEC e = d[3] - d[1], o = d[2] - d[0];                                                                 \
        v[0] = a + b;                                                                                         \
        v[1] = a - b;                                                                                         \
        v[2] = e + (real)0.5 * o;                                                                             \
        v[3] = e - (real)0.5 * o;                                                                             \
        v[4] = (d[4] - d[2]) - (real)0.25 * o;                                                                \
    }                                                                                                         \
    /* u = G g: 2 taps to m+1 products */                                                                     \
    DG_INLINE void name##_taps(const int m, VEC a, VEC b, VEC *u)                                             \
    {                                                                                                         \
        if (m == 2) {                                                                                         \
            u[0] = a;                                                                                         \
            u[1] = a + b;                                                                                     \
            u[2] = b;                                                                                         \
            return;                                                                                           \
        }                                                                                                     \
        VEC p = (real)(2.0 / 3) * a, q = (real)(2.0 / 3) * b, r = (real)(4.0 / 3) * a;                        \
        u[0] = p + q;                                                                                         \
        u[1] = q - p;                                                                                         \
        u[2] = -r - q;                                                                                        \
        u[3] = r - q;                                                                                         \
        u[4] = b;                                                                                             \
    }                                                                                                         \
    /* y = A' u: m+1 products to m outputs */                                                                 \
    DG_INLINE void name##_output(const int m, const VEC *u, VEC *y)                                           \
    {                                                                                                         \
        if (m == 2) {                                                                                         \
            y[0] = u[0] + u[1];                                                                               \
            y[1] = u[1] + u[2];                                                                               \
            return;                                                                                           \
        }                                                                                                     \
        VEC p = u[0] + u[1], q = u[0] - u[1], r = u[2] + u[3], t = u[2] - u[3];                               \
        y[0] = p + r;                                                                                         \
        y[1] = q + (real)0.5 * t;                                                                             \
        y[2] = p + (real)0.25 * r;                                                                            \
        y[3] = (q + (real)0.125 * t) + u[4];                                                                  \
    }                                                                                                         \
    /* z = A y: m outputs to m+1 products */                                                                  \
    DG_INLINE void name##_outputs_back(const int m, const VEC *y, VEC *z)                                     \
    {                                                                                                         \
        if (m == 2) {                                                                                         \
            z[0] = y[0];                                                                                      \
            z[1] = y[0] + y[1];                                                                               \
            z[2] = y[1];                                                                                      \
            return;                                                                                           \
        }                                                                                                     \
        VEC e = y[0] + y[2], o = y[1] + y[3];                                                                 \
        VEC p = y[0] + (real)0.25 * y[2], q = (real)0.5 * y[1] + (real)0.125 * y[3];                          \
        z[0] = e + o;                                                                                         \
        z[1] = e - o;                                                                                         \
        z[2] = p + q;                                                                                         \
        z[3] = p - q;                                                                                         \
        z[4] = y[3];                                                                                          \
    }                                                                                                         \
    /* g = G' u: m+1 products to 2 taps */                                                                    \
    DG_INLINE void name##_taps_back(const int m, const VEC *u, VEC *g)                                        \
    {                                                                                                         \
        if (m == 2) {                                                                                         \
            g[0] = u[0] + u[1];                                                                               \
            g[1] = u[1] + u[2];                                                                               \
            return;                                                                                           \
        }                                                                                                     \
        g[0] = (real)(2.0 / 3) * (u[0] - u[1]) + (real)(4.0 / 3) * (u[3] - u[2]);                             \
        g[1] = (real)(2.0 / 3) * ((u[0] + u[1]) - (u[2] + u[3])) + u[4];                                      \
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
        DG_UNROLL for (int s = 0; s <= m; s++) *(dg_vec *)(to + (size_t)(r * (m + 1) + s) * step) = v[s];
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
