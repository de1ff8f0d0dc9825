/* Traversal of tensors by the CPU kernels of batch norm and of bias.
 *
 * A row has the C channels of one pixel. A chunk has as many rows as stay cached between two passes. The sums of the
 * chunks are merged per channel in double, in the order of the chunks. Several rows of a chunk form a tile of about
 * TILE numbers, in which lane i has channel i % C. So vectors are full even if C is small. */
#pragma once

#include <omp.h>
#include "kernels/cpu/cpu.h"

enum { TILE = 256, CHUNK = 8192, MERGE = 16 };

typedef struct {
    int C, groups;
    int64_t rows;
    int64_t chunk;
    int chunks;
    int width, tile;
} split;

INLINE split split_of(int N, int H, int W, int C, int groups)
{
    split s = {.C = C, .groups = groups, .rows = (int64_t)(N / groups) * H * W};
    s.width = C < TILE ? C : TILE;
    s.tile = TILE / s.width;
    s.chunk = C <= TILE ? CHUNK / TILE * s.tile : CHUNK / C > 16 ? CHUNK / C : 16;
    s.chunks = (int)((s.rows + s.chunk - 1) / s.chunk);
    return s;
}

INLINE int64_t rows_of(const split *s, int chunk)
{
    int64_t left = s->rows - (int64_t)(chunk % s->chunks) * s->chunk;
    return left < s->chunk ? left : s->chunk;
}

/* Returns the index of a chunk's first element. Chunks are counted over all groups. */
INLINE int64_t start_of(const split *s, int chunk)
{
    return ((int64_t)(chunk / s->chunks) * s->rows + (int64_t)(chunk % s->chunks) * s->chunk) * s->C;
}

/* Sets *lo and *hi: in every pass of an op, the calling thread processes chunks *lo .. *hi - 1. */
INLINE void share_of(const split *s, int *lo, int *hi)
{
    int64_t n = (int64_t)s->groups * s->chunks, me = omp_get_thread_num(), all = omp_get_num_threads();
    *lo = (int)(n * me / all);
    *hi = (int)(n * (me + 1) / all);
}

INLINE double *sums_of(void *scratch, const split *s, int chunk)
{
    return (double *)scratch + 2 * (int64_t)chunk * s->C;
}

/* Evaluates `call` for AHEAD tiles at a time, so that a lane's sums and coefficients are loaded once for these tiles.
 * The remaining tiles follow one by one. In `call`, `many` is the number of tiles, r the first row, and n the number of
 * lanes per tile. */
enum { AHEAD = 4 };
#define TILES(rows, tile, width, call)                                        \
    do {                                                                      \
        int64_t r = 0;                                                        \
        for (; r + AHEAD * (tile) <= (rows); r += AHEAD * (tile)) {           \
            enum { many = AHEAD };                                            \
            int n = (tile) * (width);                                         \
            call;                                                             \
        }                                                                     \
        for (; r < (rows); r += (tile)) {                                     \
            enum { many = 1 };                                                \
            int n = ((rows)-r < (tile) ? (int)((rows)-r) : (tile)) * (width); \
            call;                                                             \
        }                                                                     \
    } while (0)

INLINE void spread(real *restrict out, const real *restrict value, int width, int tile)
{
    for (int j = 0; j < tile; j++)
        for (int c = 0; c < width; c++) out[j * width + c] = value[c];
}

/* Adds the lanes of each channel. */
INLINE void fold(double *restrict sum, const real *restrict lane, int width, int tile)
{
    for (int c = 0; c < width; c++) sum[c] = (double)lane[c];
    for (int j = 1; j < tile; j++)
        for (int c = 0; c < width; c++) sum[c] += (double)lane[j * width + c];
}
