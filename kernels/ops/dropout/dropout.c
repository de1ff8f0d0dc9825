/* Dropout: Philox words a block of four at a time, of which nothing is kept. */
#include "kernels/cpu/cpu.h"
#include "kernels/ops/dropout/dropout.h"

enum { BLOCKS = 64, PIECE = 4 * BLOCKS };

/* The words of n blocks from `first` on, word by word: so that they vectorise. */
static void draw(uint32_t word[restrict 4][BLOCKS], const dg_dropout_args *a, uint64_t first)
{
    const uint64_t seed = a->state->seed, subsequence = dg_dropout_subsequence(a);
#pragma omp simd
    for (int i = 0; i < BLOCKS; i++) {
        uint32_t four[4];
        dg_philox(four, seed, subsequence, first + (uint64_t)i);
        for (int k = 0; k < 4; k++) word[k][i] = four[k];
    }
}

void DG_CPU(dg_cpu_dropout)(const dg_dropout_args *a, const dg_tune *tune)
{
    (void)tune;
    const uint64_t threshold = dg_dropout_threshold(a);
    const real scale = (real)dg_dropout_scale(a);
#pragma omp parallel for schedule(static) if (a->n > 16 * PIECE)
    for (int64_t at = 0; at < a->n; at += PIECE) {
        const real *x = (const real *)a->x + at;
        real *y = (real *)a->y + at;
        const int n = a->n - at < PIECE ? (int)(a->n - at) : PIECE;
        uint32_t word[4][BLOCKS];
        draw(word, a, (uint64_t)at / 4);
        for (int i = 0; i < n; i++) y[i] = word[i % 4][i / 4] >= threshold ? x[i] * scale : 0;
    }
}
