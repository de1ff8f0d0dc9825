/* Dropout with one Philox block per four values. The mask is not stored. */
#include "kernels/cpu/cpu.h"
#include "kernels/ops/values.h"

#include <string.h>

enum { BLOCKS = 64, PIECE = 4 * BLOCKS };

/* Computes BLOCKS Philox blocks, from block `first` on. `c[k][i]` is 32-bit word k of block i. */
static void draw(uint32_t c[restrict 4][BLOCKS], const dg_dropout_args *a, uint64_t first)
{
    const uint64_t seed = a->state->seed, subsequence = dg_dropout_subsequence(a);
    for (int i = 0; i < BLOCKS; i++) {
        c[0][i] = (uint32_t)(first + (uint64_t)i);
        c[1][i] = (uint32_t)((first + (uint64_t)i) >> 32);
        c[2][i] = (uint32_t)subsequence;
        c[3][i] = (uint32_t)(subsequence >> 32);
    }
    for (uint32_t round = 0; round < DG_PHILOX_ROUNDS; round++) {
        for (int i = 0; i < BLOCKS; i++) {
            uint32_t four[4] = {c[0][i], c[1][i], c[2][i], c[3][i]};
            dg_philox_round(four, seed, round);
            c[0][i] = four[0], c[1][i] = four[1], c[2][i] = four[2], c[3][i] = four[3];
        }
    }
}

/* The first value has random word number `skip` of the piece. */
static void keep(real *y, const real *x, int skip, int n, uint32_t word[4][BLOCKS], uint32_t least, real scale)
{
    real all[PIECE], *const factor = all + skip;
#pragma omp simd
    for (int i = 0; i < BLOCKS; i++) {
        for (int k = 0; k < 4; k++) all[4 * i + k] = word[k][i] >= least ? scale : 0;
    }
#pragma omp simd
    for (int i = 0; i < n; i++) y[i] = factor[i] > 0 ? x[i] * factor[i] : 0;
}

DG_CPU_OP(dropout, dropout)
{
    const uint64_t threshold = dg_dropout_threshold(a);
    const real scale = (real)dg_dropout_scale(a);
    const int64_t lead = a->first % 4;
    if (threshold >> 32) {
        memset(a->y, 0, (size_t)a->n * sizeof(real));
        return;
    }
#pragma omp parallel for schedule(static) if (a->n > 64 * PIECE)
    for (int64_t piece = -lead; piece < a->n; piece += PIECE) {
        uint32_t word[4][BLOCKS];
        draw(word, a, (uint64_t)(a->first + piece) / 4);
        const int64_t at = piece < 0 ? 0 : piece, end = piece + PIECE < a->n ? piece + PIECE : a->n;
        keep((real *)a->y + at, (const real *)a->x + at, (int)(at - piece), (int)(end - at), word, (uint32_t)threshold,
             scale);
    }
}
