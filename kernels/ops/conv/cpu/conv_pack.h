/* Packing for the convolutions: interleaves rows by transposing small squares in registers. */
#pragma once

#include "kernels/ops/conv/cpu/conv_micro.h"

/* gcc before version 12 lacks __builtin_shufflevector. */
#if defined __clang__ || __GNUC__ >= 12
#define DG_SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define DG_SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (dg_square_places){__VA_ARGS__})
#endif

/* DG_SQUARE is the side of the transposed squares: the number of lanes of a register, at most 8. */
#if (defined __AVX512F__) || (defined __AVX__ && DG_FP == 32)
#define DG_SQUARE 8
#define DG_FIRST_HALVES(a, b) DG_SHUFFLE(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define DG_LAST_HALVES(a, b) DG_SHUFFLE(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#elif (defined __AVX__) || DG_FP == 32
#define DG_SQUARE 4
#define DG_FIRST_HALVES(a, b) DG_SHUFFLE(a, b, 0, 4, 1, 5)
#define DG_LAST_HALVES(a, b) DG_SHUFFLE(a, b, 2, 6, 3, 7)
#else
#define DG_SQUARE 2
#define DG_FIRST_HALVES(a, b) DG_SHUFFLE(a, b, 0, 2)
#define DG_LAST_HALVES(a, b) DG_SHUFFLE(a, b, 1, 3)
#endif
#if DG_FP == 64
typedef int64_t dg_square_places __attribute__((vector_size(DG_SQUARE * sizeof(real))));
#else
typedef int32_t dg_square_places __attribute__((vector_size(DG_SQUARE * sizeof(real))));
#endif
typedef real dg_square_row __attribute__((vector_size(DG_SQUARE * sizeof(real)), aligned(sizeof(real)), may_alias));

DG_INLINE void dg_transpose(dg_square_row r[DG_SQUARE])
{
    dg_square_row t[DG_SQUARE];
    for (int step = 1; step < DG_SQUARE; step *= 2) {
        DG_UNROLL for (int i = 0; i < DG_SQUARE / 2; i++)
        {
            t[2 * i] = DG_FIRST_HALVES(r[i], r[i + DG_SQUARE / 2]);
            t[2 * i + 1] = DG_LAST_HALVES(r[i], r[i + DG_SQUARE / 2]);
        }
        DG_UNROLL for (int i = 0; i < DG_SQUARE; i++) r[i] = t[i];
    }
}

/* Copies n values, followed by zeros up to `width`, a multiple of DG_LANES. */
DG_INLINE void dg_pack_vectors(real *restrict to, const real *restrict from, int n, int width)
{
    if (n == width) {
        for (int i = 0; i < width; i += DG_LANES) *(dg_vec *)(to + i) = *(const dg_vec *)(from + i);
    } else {
        for (int i = 0; i < width; i++) to[i] = i < n ? from[i] : 0;
    }
}

/* Copies n values, followed by zeros up to DG_MR. */
DG_INLINE void dg_pack_tile(real *restrict to, const real *restrict from, int n)
{
    if (n == DG_MR) {
        DG_UNROLL for (int i = 0; i < DG_MR; i++) to[i] = from[i];
    } else {
        for (int i = 0; i < DG_MR; i++) to[i] = i < n ? from[i] : 0;
    }
}

/* Sets to[e * width + i] to from[i * stride + e], for e < count and i < rows. Padding (rows <= i < width) gets
 * arbitrary values. Up to DG_SQUARE - 1 reals after the last element of `to` may be overwritten. */
DG_INLINE void dg_interleave(real *restrict to, int width, const real *restrict from, ptrdiff_t stride, int rows,
                             ptrdiff_t count)
{
    ptrdiff_t e = 0;
    for (; e + DG_SQUARE <= count; e += DG_SQUARE) {
        dg_square_row r[DG_SQUARE];
        /* Squares are written in descending order, because the last square of row e overwrites the next row's start. */
        for (int i0 = (width - 1) / DG_SQUARE * DG_SQUARE; i0 >= 0; i0 -= DG_SQUARE) {
            DG_UNROLL for (int i = 0; i < DG_SQUARE; i++)
            {
                int row = i0 + i < rows ? i0 + i : rows - 1;
                r[i] = *(const dg_square_row *)(from + row * stride + e);
            }
            dg_transpose(r);
            DG_UNROLL for (int k = 0; k < DG_SQUARE; k++) * (dg_square_row *)(to + (e + k) * width + i0) = r[k];
        }
    }
    for (; e < count; e++)
        for (int i = 0; i < width; i++) to[e * width + i] = from[(i < rows ? i : rows - 1) * stride + e];
}
