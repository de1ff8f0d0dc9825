/* Minimal filtering, F(m,r): m outputs of a correlation of r taps from m+r-1 products instead of m r.
 *
 *     y[i] = sum over p < r of g[p] d[i+p], i < m:    y = A' ((G g) * (B' d))
 *     g[p] = sum over i < m of d[i+p] y[i]:           g = G' ((A y) * (B' d))        the same products, transposed
 *
 * Both are polynomials' products at n = m+r-1 points, which are chosen for fp32 (Barabasz et al. 2020, "Error analysis
 * and improving the accuracy of Winograd convolution", for the method); n says which filter it is:
 *
 *     n = 6    F(4,3): a, -a, b, -b, 0 and infinity, a = 3/2 and b = 5/8, the best of such pairs: 0.4 of the error of
 *              the usual 2 and 1. Against double, at 32 to 128 channels: 5e-7 of the results' size, 5e-7 to 7e-7 for
 *              weights, where direct sums have 2e-7
 *     n = 5    F(4,2): a, -a, b, -b and infinity, a = 5/4 and b = 3/8, the best of such pairs: half the error of the
 *              usual 0, 1, -1, 2 and infinity, three quarters of that of 1 and 1/2, for one or two operations more
 *     n = 3    F(2,2): 0, 1 and infinity, with errors like the direct sum
 *
 * In two dimensions both are applied to columns, then to rows. A convolution with K = 2S is S x S filters of two taps,
 * one for each phase of the input (forward) or of the output (backward); one with K = 3 and S = 1 is one of three.
 * Winograd 1980, "Arithmetic complexity of computations"; Lavin & Gray 2016, "Fast algorithms for convolutional
 * neural networks". */
#ifndef DG_CONV_WINOGRAD_H
#define DG_CONV_WINOGRAD_H

#include "kernels/ops/conv/cpu/conv_pack.h"
#include "kernels/ops/conv/cpu/conv_internal.h"

enum { DG_POINTS = 6, DG_TAPS = 3 }; /* of an axis, at most */

/* Taps and outputs of an axis of n points. */
#define DG_TAPS_OF(n) ((n) == 6 ? 3 : 2)
#define DG_TILE_OF(n) ((n) == 3 ? 2 : 4)

/* The points of n = 5 and what divides their products; powers of them up to the third are exact. */
#define DG_A ((real)1.25)
#define DG_B ((real)0.375)
#define DG_C ((real)(1 / (2 * (1.25 * 1.25 - 0.375 * 0.375))))

/* The points of n = 6, exact too, and the inverses of their products: at a, b and 0. */
#define DG_A6 ((real)1.5)
#define DG_B6 ((real)0.625)
#define DG_CA6 ((real)(1 / (2 * 1.5 * 1.5 * (1.5 * 1.5 - 0.625 * 0.625))))
#define DG_CB6 ((real)(1 / (2 * 0.625 * 0.625 * (0.625 * 0.625 - 1.5 * 1.5))))
#define DG_C6 ((real)(1 / (1.5 * 1.5 * 0.625 * 0.625)))

/* These serve both register types: dg_vec and dg_square_row. n is a constant wherever they are inlined. */
#define DG_WINOGRAD(VEC, name)                                                                          \
    /* v = B' d: n inputs to n products */                                                              \
    DG_INLINE void name##_input(const int n, const VEC *d, VEC *v)                                      \
    {                                                                                                   \
        if (n == 3) {                                                                                   \
            v[0] = d[0] - d[1];                                                                         \
            v[1] = d[1];                                                                                \
            v[2] = d[2] - d[1];                                                                         \
            return;                                                                                     \
        }                                                                                               \
        if (n == 6) {                                                                                   \
            VEC p = d[4] - DG_B6 * DG_B6 * d[2], q = d[3] - DG_B6 * DG_B6 * d[1];                       \
            VEC e = d[4] - DG_A6 * DG_A6 * d[2], o = d[3] - DG_A6 * DG_A6 * d[1];                       \
            v[0] = p + DG_A6 * q;                                                                       \
            v[1] = p - DG_A6 * q;                                                                       \
            v[2] = e + DG_B6 * o;                                                                       \
            v[3] = e - DG_B6 * o;                                                                       \
            v[4] = e - DG_B6 * DG_B6 * (d[2] - DG_A6 * DG_A6 * d[0]);                                   \
            v[5] = (d[5] - DG_A6 * DG_A6 * d[3]) - DG_B6 * DG_B6 * o;                                   \
            return;                                                                                     \
        }                                                                                               \
        VEC p = d[3] - DG_B * DG_B * d[1], q = d[2] - DG_B * DG_B * d[0];                               \
        VEC e = d[3] - DG_A * DG_A * d[1], o = d[2] - DG_A * DG_A * d[0];                               \
        v[0] = p + DG_A * q;                                                                            \
        v[1] = p - DG_A * q;                                                                            \
        v[2] = e + DG_B * o;                                                                            \
        v[3] = e - DG_B * o;                                                                            \
        v[4] = (d[4] - DG_A * DG_A * d[2]) - DG_B * DG_B * o;                                           \
    }                                                                                                   \
    /* u = G g: taps to n products */                                                                   \
    DG_INLINE void name##_taps(const int n, const VEC *g, VEC *u)                                       \
    {                                                                                                   \
        if (n == 3) {                                                                                   \
            u[0] = g[0];                                                                                \
            u[1] = g[0] + g[1];                                                                         \
            u[2] = g[1];                                                                                \
            return;                                                                                     \
        }                                                                                               \
        if (n == 6) {                                                                                   \
            VEC p = DG_CA6 * (g[0] + DG_A6 * DG_A6 * g[2]), q = DG_CB6 * (g[0] + DG_B6 * DG_B6 * g[2]); \
            u[0] = p + DG_CA6 * DG_A6 * g[1];                                                           \
            u[1] = p - DG_CA6 * DG_A6 * g[1];                                                           \
            u[2] = q + DG_CB6 * DG_B6 * g[1];                                                           \
            u[3] = q - DG_CB6 * DG_B6 * g[1];                                                           \
            u[4] = DG_C6 * g[0];                                                                        \
            u[5] = g[2];                                                                                \
            return;                                                                                     \
        }                                                                                               \
        VEC p = DG_C / DG_A * g[0], q = DG_C / DG_B * g[0];                                             \
        u[0] = DG_C * g[1] + p;                                                                         \
        u[1] = DG_C * g[1] - p;                                                                         \
        u[2] = -DG_C * g[1] - q;                                                                        \
        u[3] = -DG_C * g[1] + q;                                                                        \
        u[4] = g[1];                                                                                    \
    }                                                                                                   \
    /* y = A' u: n products to the outputs of a tile */                                                 \
    DG_INLINE void name##_output(const int n, const VEC *u, VEC *y)                                     \
    {                                                                                                   \
        if (n == 3) {                                                                                   \
            y[0] = u[0] + u[1];                                                                         \
            y[1] = u[1] + u[2];                                                                         \
            return;                                                                                     \
        }                                                                                               \
        VEC p = u[0] + u[1], q = u[0] - u[1], r = u[2] + u[3], t = u[2] - u[3];                         \
        if (n == 6) {                                                                                   \
            y[0] = (p + r) + u[4];                                                                      \
            y[1] = DG_A6 * q + DG_B6 * t;                                                               \
            y[2] = DG_A6 * DG_A6 * p + DG_B6 * DG_B6 * r;                                               \
            y[3] = DG_A6 * DG_A6 * DG_A6 * q + (DG_B6 * DG_B6 * DG_B6 * t + u[5]);                      \
            return;                                                                                     \
        }                                                                                               \
        y[0] = p + r;                                                                                   \
        y[1] = DG_A * q + DG_B * t;                                                                     \
        y[2] = DG_A * DG_A * p + DG_B * DG_B * r;                                                       \
        y[3] = DG_A * DG_A * DG_A * q + (DG_B * DG_B * DG_B * t + u[4]);                                \
    }                                                                                                   \
    /* z = A y: the outputs of a tile to n products */                                                  \
    DG_INLINE void name##_outputs_back(const int n, const VEC *y, VEC *z)                               \
    {                                                                                                   \
        if (n == 3) {                                                                                   \
            z[0] = y[0];                                                                                \
            z[1] = y[0] + y[1];                                                                         \
            z[2] = y[1];                                                                                \
            return;                                                                                     \
        }                                                                                               \
        const real a = n == 6 ? DG_A6 : DG_A, b = n == 6 ? DG_B6 : DG_B;                                \
        VEC e = y[0] + a * a * y[2], o = y[1] + a * a * y[3];                                           \
        VEC p = y[0] + b * b * y[2], q = y[1] + b * b * y[3];                                           \
        z[0] = e + a * o;                                                                               \
        z[1] = e - a * o;                                                                               \
        z[2] = p + b * q;                                                                               \
        z[3] = p - b * q;                                                                               \
        if (n == 6) z[4] = y[0];                                                                        \
        z[n - 1] = y[3];                                                                                \
    }                                                                                                   \
    /* g = G' u: n products to the taps */                                                              \
    DG_INLINE void name##_taps_back(const int n, const VEC *u, VEC *g)                                  \
    {                                                                                                   \
        if (n == 3) {                                                                                   \
            g[0] = u[0] + u[1];                                                                         \
            g[1] = u[1] + u[2];                                                                         \
            return;                                                                                     \
        }                                                                                               \
        if (n == 6) {                                                                                   \
            VEC p = DG_CA6 * (u[0] + u[1]), q = DG_CB6 * (u[2] + u[3]);                                 \
            g[0] = p + (q + DG_C6 * u[4]);                                                              \
            g[1] = DG_CA6 * DG_A6 * (u[0] - u[1]) + DG_CB6 * DG_B6 * (u[2] - u[3]);                     \
            g[2] = DG_A6 * DG_A6 * p + (DG_B6 * DG_B6 * q + u[5]);                                      \
            return;                                                                                     \
        }                                                                                               \
        g[0] = DG_C / DG_A * (u[0] - u[1]) + DG_C / DG_B * (u[3] - u[2]);                               \
        g[1] = DG_C * ((u[0] + u[1]) - (u[2] + u[3])) + u[4];                                           \
    }

DG_WINOGRAD(dg_vec, dg_wide)
DG_WINOGRAD(dg_square_row, dg_slim)

/* n x n inputs at channels c.. to all frequencies: to[f * step]. */
DG_INLINE void dg_transform_input(const int n, const real *const *from, ptrdiff_t c, real *to, size_t step)
{
    dg_vec t[DG_POINTS][DG_POINTS];
    DG_UNROLL for (int s = 0; s < n; s++)
    {
        dg_vec d[DG_POINTS], v[DG_POINTS];
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

/* n for r taps and outputs of this size; with two taps the larger tile if not too much of it hangs over the edge. */
static inline int dg_winograd_points(int r, int H, int W)
{
    if (r == 3) return 6;
    int big = dg_ceil_div(H, 4) * dg_ceil_div(W, 4) * 25, small = dg_ceil_div(H, 2) * dg_ceil_div(W, 2) * 9;
    return big <= small ? 5 : 3;
}

#endif
