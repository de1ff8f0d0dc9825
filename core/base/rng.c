#include "core/base/rng.h"

#include <math.h>
#include <string.h>

void dg_normal4(float out[4], uint64_t seed, uint64_t subsequence, uint64_t block)
{
    uint32_t word[4];
    dg_philox(word, seed, subsequence, block);
    const float unit = 0x1p-32f, turn = 0x1p-32f * 6.2831855f;
    for (int i = 0; i < 4; i += 2) {
        /* fmaf, because compilers differ in whether they contract a * b + c */
        float u = fmaf((float)word[i], unit, unit / 2);
        float v = fmaf((float)word[i + 1], turn, turn / 2);
        float s = sqrtf(-2.0f * logf(u));
        out[i] = s * sinf(v);
        out[i + 1] = s * cosf(v);
    }
}

typedef struct {
    uint64_t seed, subsequence, block;
    uint32_t word[4];
    int used;
} words;

static uint32_t next(words *w)
{
    if (w->used == 4) {
        dg_philox(w->word, w->seed, w->subsequence, w->block++);
        w->used = 0;
    }
    return w->word[w->used++];
}

/* Returns an unbiased uniform integer in 0..n-1: Lemire, "Fast random integer generation in an interval", 2019. */
static uint32_t below(words *w, uint32_t n)
{
    uint64_t product = (uint64_t)next(w) * n;
    if ((uint32_t)product < n)
        for (uint32_t reject = (0u - n) % n; (uint32_t)product < reject;) product = (uint64_t)next(w) * n;
    return (uint32_t)(product >> 32);
}

void dg_random_bytes(void *out, size_t bytes, uint64_t seed, uint64_t subsequence)
{
    for (size_t i = 0; i < bytes; i += 16) {
        uint32_t word[4];
        dg_philox(word, seed, subsequence, i / 16);
        memcpy((uint8_t *)out + i, word, bytes - i < 16 ? bytes - i : 16);
    }
}

void dg_permutation_of(int32_t *perm, int n, uint64_t seed, uint64_t subsequence)
{
    words w = {.seed = seed, .subsequence = subsequence, .used = 4};
    for (int i = 0; i < n; i++) perm[i] = i;
    for (int i = n - 1; i > 0; i--) {
        uint32_t j = below(&w, (uint32_t)i + 1);
        int32_t t = perm[i];
        perm[i] = perm[j];
        perm[j] = t;
    }
}
