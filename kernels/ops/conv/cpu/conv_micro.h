/* The inner loop of most CPU convolutions multiplies a tile of A by a tile of B:
 *   c[i][j] = sum over all runs and over k < n of a[k*AK + i] * b[k*BK + j], i < MR, j < NV * DG_LANES.
 * Each sum is one chain of multiply-adds in the order of the runs. `dg_micro_sum()` splits long chains, because they
 * have several times the error of short chains. The lengths of the parts depend only on the shape.
 *
 * To hide the latency of multiply-adds, a tile needs 8 to 10 independent chains or more. CPUs with 16 registers have
 * tiles of 6 x 2 vectors; CPUs with 32 registers have tiles of 8 x 2 vectors. */
#pragma once

#include "kernels/cpu/cpu.h"

#include <stdbool.h>
#ifdef __SSE2__
#include <immintrin.h>
#endif

#if defined __AVX512F__
enum { DG_VEC_BYTES = 64, DG_MR = 8 };
#elif defined __AVX__
enum { DG_VEC_BYTES = 32, DG_MR = 6 };
#else
enum { DG_VEC_BYTES = 16, DG_MR = 4 };
#endif
enum { DG_LANES = DG_VEC_BYTES / (int)sizeof(real) };

typedef real dg_vec __attribute__((vector_size(DG_VEC_BYTES), aligned(sizeof(real)), may_alias));

#ifdef __clang__
#define DG_UNROLL _Pragma("clang loop unroll(full)")
#else
#define DG_UNROLL _Pragma("GCC unroll 32")
#endif
#define DG_INLINE static inline __attribute__((always_inline, unused))

enum { DG_LARGE = 64 << 20, DG_LINE = 64 / (int)sizeof(real) };

/* True if a result of `count` reals is large and aligned enough for non-temporal stores. `row`: reals per row. */
static inline bool dg_streams(const real *to, size_t count, size_t row)
{
    return count * sizeof(real) >= DG_LARGE && row % DG_LINE == 0 && (uintptr_t)to % 64 == 0;
}

DG_INLINE void dg_stream(real *to, dg_vec v)
{
#if defined __AVX512F__
    _mm512_stream_si512((__m512i *)to, (__m512i)v);
#elif defined __AVX__
    _mm256_stream_si256((__m256i *)to, (__m256i)v);
#elif defined __SSE2__
    _mm_stream_si128((__m128i *)to, (__m128i)v);
#else
    *(dg_vec *)to = v;
#endif
}

/* Makes non-temporal stores visible to other threads before later stores. */
DG_INLINE void dg_streamed(void)
{
#ifdef __SSE2__
    _mm_sfence();
#endif
}

typedef struct {
    const real *a, *b;
    ptrdiff_t n;
} dg_span;

/* AK and BK are the strides of a and b: constants, or the arguments ak and bk. The function is noinline, because GCC 12
 * spills the accumulators of an inlined copy. */
#define DG_MICRO(name, MR, NV, AK, BK)                                                                                \
    static __attribute__((noinline, unused)) void name(const dg_span *run, int runs, real *c, ptrdiff_t ldc, int add, \
                                                       ptrdiff_t ak, ptrdiff_t bk)                                    \
    {                                                                                                                 \
        (void)ak;                                                                                                     \
        (void)bk;                                                                                                     \
        dg_vec acc[MR][NV];                                                                                           \
        DG_UNROLL for (int i = 0; i < (MR); i++) DG_UNROLL for (int j = 0; j < (NV); j++) acc[i][j] = (dg_vec){0};    \
        for (int r = 0; r < runs; r++) {                                                                              \
            const real *a = run[r].a, *b = run[r].b;                                                                  \
            for (ptrdiff_t k = run[r].n; k > 0; k--) {                                                                \
                dg_vec v[NV];                                                                                         \
                DG_UNROLL for (int j = 0; j < (NV); j++) v[j] = *(const dg_vec *)(b + j * DG_LANES);                  \
                DG_UNROLL for (int i = 0; i < (MR); i++) DG_UNROLL for (int j = 0; j < (NV); j++)                     \
                    acc[i][j] += a[i] * v[j];                                                                         \
                a += (AK);                                                                                            \
                b += (BK);                                                                                            \
            }                                                                                                         \
        }                                                                                                             \
        DG_UNROLL for (int i = 0; i < (MR); i++) DG_UNROLL for (int j = 0; j < (NV); j++)                             \
        {                                                                                                             \
            dg_vec *to = (dg_vec *)(c + i * ldc + j * DG_LANES);                                                      \
            if (add) acc[i][j] += *to;                                                                                \
            *to = acc[i][j];                                                                                          \
        }                                                                                                             \
    }
typedef void dg_micro(const dg_span *run, int runs, real *c, ptrdiff_t ldc, int add, ptrdiff_t ak, ptrdiff_t bk);

/* Runs a DG_MICRO function over all runs, in chains of at most DG_SUM_TERMS terms. */
enum { DG_SUM_TERMS = 128, DG_SUM_RUNS = 16 };
static inline void dg_micro_sum(dg_micro *micro, const dg_span *run, int runs, real *c, ptrdiff_t ldc, int add,
                                ptrdiff_t ak, ptrdiff_t bk)
{
    dg_span part[DG_SUM_RUNS];
    int parts = 0;
    ptrdiff_t terms = 0;
    for (int r = 0; r < runs; r++) {
        for (ptrdiff_t at = 0; at < run[r].n; at += part[parts++].n) {
            if (parts == DG_SUM_RUNS || terms == DG_SUM_TERMS) {
                micro(part, parts, c, ldc, add, ak, bk);
                parts = 0, terms = 0, add = 1;
            }
            ptrdiff_t left = run[r].n - at, room = DG_SUM_TERMS - terms;
            part[parts] = (dg_span){run[r].a + at * ak, run[r].b + at * bk, left < room ? left : room};
            terms += part[parts].n;
        }
    }
    if (parts || !add) micro(part, parts, c, ldc, add, ak, bk);
}
