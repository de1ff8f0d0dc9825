/* Ops gather (dataset records to a batch), to_u8 (a batch to bytes) and advance (the step counter). */
#include "kernels/cpu/cpu.h"
#include "core/base/rng.h"

#include <stdbool.h>
#include <string.h>

static bool mirrored(const dg_gather_args *a, int64_t n)
{
    uint32_t word[4];
    if (!a->flip) return false;
    dg_philox(word, a->state->seed, dg_subsequence(DG_STREAM_FLIP, a->state->step), (uint64_t)n / 4);
    return word[n % 4] & 1;
}

enum { MANY = 1 << 15 }; /* min number of values for which several threads are faster */

/* PERIOD is a multiple of every number of channels (1 to 4). So values i and i % PERIOD of an image have the same
 * channel. */
enum { PERIOD = 48 };

typedef struct {
    real dev[PERIOD], shift[PERIOD];
} scales;

static scales scales_of(const dg_gather_args *a)
{
    scales s;
    for (int i = 0; i < PERIOD; i++) s.dev[i] = (real)a->dev[i % a->C], s.shift[i] = (real)a->shift[i % a->C];
    return s;
}

static void scale(real *restrict out, const uint8_t *restrict in, int64_t count, const scales *s)
{
    for (int64_t at = 0; at < count; at += PERIOD) {
        const int n = count - at < PERIOD ? (int)(count - at) : PERIOD;
#pragma omp simd
        for (int i = 0; i < n; i++) out[at + i] = (real)in[at + i] / s->dev[i] - s->shift[i];
    }
}

static void mirror(real *x, const dg_gather_args *a)
{
    for (int h = 0; h < a->H; h++, x += (int64_t)a->W * a->C)
        for (int w = 0; w < a->W / 2; w++)
            for (int c = 0; c < a->C; c++) {
                real *left = &x[w * a->C + c], *right = &x[(a->W - 1 - w) * a->C + c], was = *left;
                *left = *right;
                *right = was;
            }
}

static int32_t label_at(const uint8_t *p)
{
    return (int32_t)((uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24);
}

DG_CPU_OP(gather, gather)
{
    const int64_t count = (int64_t)a->H * a->W * a->C, bytes = count * (a->prepared ? (int64_t)sizeof(real) : 1);
    const scales s = scales_of(a);
#pragma omp parallel for schedule(static) if (a->N * count > MANY)
    for (int n = 0; n < a->N; n++) {
        const int64_t place = (int64_t)a->first + n;
        const uint8_t *in = a->data + a->perm[a->state->cursor + place] * a->record;
        real *out = (real *)a->x + n * count;
        if (a->prepared) memcpy(out, in, (size_t)bytes);
        else scale(out, in, count, &s);
        if (mirrored(a, place)) mirror(out, a);
        if (a->label) a->label[n] = label_at(in + bytes);
    }
}

enum { PIECE = 4096 };

DG_CPU_OP(to_u8, to_u8)
{
#pragma omp parallel for schedule(static) if (a->n > MANY)
    for (int64_t at = 0; at < a->n; at += PIECE) {
        const real *x = (const real *)a->x + at;
        uint8_t *out = a->out + at;
        int n = a->n - at < PIECE ? (int)(a->n - at) : PIECE;
#pragma omp simd
        for (int i = 0; i < n; i++) {
            double v = ((double)x[i] + 1) * 127.5 + 0.5;
            v = v > 0 ? v : 0;
            out[i] = (uint8_t)(int)(v < 255 ? v : 255);
        }
    }
}

DG_CPU_OP(advance, advance)
{
    a->state->step += 1;
    a->state->cursor += a->batch;
}
