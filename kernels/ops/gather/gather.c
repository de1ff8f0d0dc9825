/* Pictures in and out: rows of the data set to a batch, a batch to bytes. And the step counter. */
#include "kernels/cpu/cpu.h"
#include "core/base/rng.h"

#include <stdbool.h>

static bool mirrored(const dg_gather_args *a, int n)
{
    uint32_t word[4];
    if (!a->flip) return false;
    dg_philox(word, a->state->seed, dg_subsequence(DG_STREAM_FLIP, a->state->step), (uint64_t)n / 4);
    return word[n % 4] & 1;
}

void DG_CPU(dg_cpu_gather)(const dg_gather_args *a, const dg_tune *tune)
{
    (void)tune;
    const int64_t width = (int64_t)a->W * a->C;
#pragma omp parallel for schedule(static)
    for (int n = 0; n < a->N; n++) {
        const uint8_t *in = a->data + (int64_t)a->perm[a->state->cursor + n] * a->H * width;
        real *out = (real *)a->x + (int64_t)n * a->H * width;
        if (!mirrored(a, n)) {
#pragma omp simd
            for (int64_t i = 0; i < a->H * width; i++) out[i] = (real)in[i] / (real)127.5 - 1;
            continue;
        }
        for (int h = 0; h < a->H; h++, in += width, out += width)
            for (int w = 0; w < a->W; w++)
                for (int c = 0; c < a->C; c++)
                    out[(a->W - 1 - w) * a->C + c] = (real)in[w * a->C + c] / (real)127.5 - 1;
    }
}

enum { PIECE = 4096 };

void DG_CPU(dg_cpu_to_u8)(const dg_to_u8_args *a, const dg_tune *tune)
{
    (void)tune;
#pragma omp parallel for schedule(static) if (a->n > PIECE)
    for (int64_t at = 0; at < a->n; at += PIECE) {
        const real *x = (const real *)a->x + at;
        uint8_t *out = a->out + at;
        int n = a->n - at < PIECE ? (int)(a->n - at) : PIECE;
#pragma omp simd
        for (int i = 0; i < n; i++) {
            double v = ((double)x[i] + 1) * 127.5 + 0.5;
            v = v > 0 ? v : 0; /* NaN too */
            out[i] = (uint8_t)(int)(v < 255 ? v : 255);
        }
    }
}

void DG_CPU(dg_cpu_advance)(const dg_advance_args *a, const dg_tune *tune)
{
    (void)tune;
    a->state->step += 1;
    a->state->cursor += a->batch;
}
