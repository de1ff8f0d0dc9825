/* Winograd's minimal filtering F(m,r): a correlation with r taps computes m outputs from n = m+r-1 products, instead of
 * m r. In these formulas, d are the inputs, g the taps, and A' is A transposed:
 *   Output: y[i] = sum over p < r of g[p] d[i+p], i < m, computed as y = A' ((G g) * (B' d)).
 *   Weight gradient: g[p] = sum over i < m of d[i+p] y[i], computed as g = G' ((A y) * (B' d)).
 * Both formulas are derived by interpolating a product of polynomials from n points. The points minimise the fp32 error
 * (Barabasz et al. 2020, "Error analysis and improving the accuracy of Winograd convolution"):
 *   F(4,3), n = 6: points a, -a, b, -b, 0 and infinity with a = 3/2 and b = 5/8. The error of F(4,3) is 0.4 times the
 *     error with a = 1 and b = 2. With 32 to 128 channels, F(4,3) has relative errors of 5e-7 to 7e-7, and direct sums
 *     2e-7.
 *   F(4,2), n = 5: points a, -a, b, -b and infinity with a = 5/4 and b = 3/8. The error of F(4,2) is half the error of
 *     points 0, 1, -1, 2 and infinity.
 * In two dimensions, columns are transformed before rows. A convolution with K = 2S has S x S filters of 2 x 2 taps.
 * Each filter belongs to one phase of the input (forward) or of the output (backward). A convolution with K = 3 and
 * S = 1 is one filter of 3 x 3 taps. Sources: Winograd 1980, "Arithmetic complexity of computations"; Lavin & Gray
 * 2016, "Fast algorithms for convolutional neural networks". */
#pragma once

#include "kernels/ops/conv/cpu/conv_pack.h"
#include "kernels/ops/conv/cpu/conv_internal.h"

/* m of all variants, and the maximum of n and r */
enum { DG_TILE = 4, DG_POINTS = 6, DG_TAPS = 3 };

#define DG_TAPS_OF(n) ((n) == 6 ? 3 : 2)

/* Points a and b for n = 5, and a factor of the weight transform. Powers of a and b are exact. */
#define DG_A ((real)1.25)
#define DG_B ((real)0.375)
#define DG_C ((real)(1 / (2 * (1.25 * 1.25 - 0.375 * 0.375))))

/* Points a and b for n = 6, and the factors of the weight transform for a, b and 0. Powers of a and b are exact. */
#define DG_A6 ((real)1.5)
#define DG_B6 ((real)0.625)
#define DG_CA6 ((real)(1 / (2 * 1.5 * 1.5 * (1.5 * 1.5 - 0.625 * 0.625))))
#define DG_CB6 ((real)(1 / (2 * 0.625 * 0.625 * (0.625 * 0.625 - 1.5 * 1.5))))
#define DG_C6 ((real)(1 / (1.5 * 1.5 * 0.625 * 0.625)))

/* Transforms along one axis, for vectors of type VEC. After inlining, n is a constant. */
#define DG_WINOGRAD(VEC, name)                                                                          \
    /* v = B' d */                                                                                      \
    DG_INLINE void name##_input(const int n, const VEC *d, VEC *v)                                      \
    {                                                                                                   \
        const real a = n == 6 ? DG_A6 : DG_A, b = n == 6 ? DG_B6 : DG_B;                                \
        const VEC *const at = d + (n - 5);                                                              \
        VEC p = at[3] - b * b * at[1], q = at[2] - b * b * at[0];                                       \
        VEC e = at[3] - a * a * at[1], o = at[2] - a * a * at[0];                                       \
        v[0] = p + a * q;                                                                               \
        v[1] = p - a * q;                                                                               \
        v[2] = e + b * o;                                                                               \
        v[3] = e - b * o;                                                                               \
        if (n == 6) v[4] = e - b * b * (d[2] - a * a * d[0]);                                           \
        v[n - 1] = (at[4] - a * a * at[2]) - b * b * o;                                                 \
    }                                                                                                   \
    /* u = G g */                                                                                       \
    DG_INLINE void name##_taps(const int n, const VEC *g, VEC *u)                                       \
    {                                                                                                   \
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
    /* y = A' u */                                                                                      \
    DG_INLINE void name##_output(const int n, const VEC *u, VEC *y)                                     \
    {                                                                                                   \
        const real a = n == 6 ? DG_A6 : DG_A, b = n == 6 ? DG_B6 : DG_B;                                \
        VEC p = u[0] + u[1], q = u[0] - u[1], r = u[2] + u[3], t = u[2] - u[3];                         \
        y[0] = n == 6 ? (p + r) + u[4] : p + r;                                                         \
        y[1] = a * q + b * t;                                                                           \
        y[2] = a * a * p + b * b * r;                                                                   \
        y[3] = a * a * a * q + (b * b * b * t + u[n - 1]);                                              \
    }                                                                                                   \
    /* z = A y */                                                                                       \
    DG_INLINE void name##_outputs_back(const int n, const VEC *y, VEC *z)                               \
    {                                                                                                   \
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
    /* g = G' u */                                                                                      \
    DG_INLINE void name##_taps_back(const int n, const VEC *u, VEC *g)                                  \
    {                                                                                                   \
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

/* Transforms `channels` channels, a multiple of DG_LANES. Each pointer in `from` is the address of one pixel of a tile.
 * Frequency f is stored at to[f * step]. */
typedef void dg_transform(const real *const *from, int channels, real *to, size_t step);
#define DG_BY_VECTORS(name, one, n)                                                                             \
    static __attribute__((noinline)) void name##n(const real *const *from, int channels, real *to, size_t step) \
    {                                                                                                           \
        for (ptrdiff_t c = 0; c < channels; c += DG_LANES) one(n, from, c, to + c, step);                       \
    }

/* Transforms any number of channels of `count` pixels. The last channels are padded to DG_LANES. Overwrites `from`. */
static inline void dg_whole_and_rest(dg_transform *transform, const real **from, int count, int channels, real *to,
                                     size_t step)
{
    int whole = channels / DG_LANES * DG_LANES, rest = channels - whole;
    transform(from, whole, to, step);
    if (!rest) return;
    real tail[DG_POINTS * DG_POINTS][DG_LANES] = {{0}};
    for (int i = 0; i < count; i++) {
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): pixels outside of the image point to zeros */
        for (int k = 0; k < rest; k++) tail[i][k] = from[i][whole + k];
        from[i] = tail[i];
    }
    transform(from, DG_LANES, to + whole, step);
}

/* `image` is the address of the first pixel and channel. `zeros` replaces pixels outside of the image. */
typedef struct {
    const real *image, *zeros;
    int H, W, C;
} dg_winograd_image;

/* Transforms a tile of an image to n x n frequencies (conv_winograd_tiles.c). The tile has the pixels at rows y0 + r *
 * at and columns x0 + s * at, for r, s < n. */
void DG_CPU(dg_winograd_input)(const dg_winograd_image *im, int n, int y0, int x0, int at, int channels, real *to,
                               size_t step);

/* Prefetches `count` reals, at most up to `end`. The order of tiles is too irregular for the hardware prefetcher. */
static inline void dg_fetch(const real *from, ptrdiff_t count, const real *end)
{
    if (count > end - from) count = end - from;
    for (ptrdiff_t i = 0; i < count; i += 64 / (ptrdiff_t)sizeof(real)) __builtin_prefetch(from + i, 0, 2);
}

/* Rounds up to an odd number of cache lines, so that arrays that are read together use different sets of L1. */
static inline size_t dg_odd_lines(size_t reals)
{
    size_t line = 64 / sizeof(real);
    return ((reals + line - 1) / line | 1) * line;
}

/* Returns the points per axis for r taps. */
static inline int dg_winograd_points(int r) { return r == 3 ? 6 : 5; }
