/* Counter-based random numbers: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
 * A random number is a pure function of (seed, stream, step, index), so a resumed training run needs only its step.
 *
 * The CPU backend lays out key and counter as cuRAND's device generator does, so that CPU and GPU draw equal values:
 * key = seed, counter = (block, subsequence) as two 64-bit halves, i.e. curand_init(seed, subsequence, 4 * block). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __CUDACC__
#define DG_HD __host__ __device__
#else
#define DG_HD
#endif

/* Each purpose has its own stream of random numbers. The Philox subsequence is stream << 56 | step. */
enum {
    DG_STREAM_NOISE = 1,   /* noise vectors z of training step `step` */
    DG_STREAM_FLIP = 2,    /* mirroring: one value per image of training step `step` */
    DG_STREAM_SHUFFLE = 3, /* order of the training images, step = epoch */
    DG_STREAM_SAMPLE = 4,  /* noise vectors z of sample grids (step = 0) and of `generate` (step = image seed) */
    DG_STREAM_INIT = 5,    /* initial weights, step = index of the weight tensor */
    DG_STREAM_SYNTH = 6,   /* synthetic images, step = index of the image */
    DG_STREAM_DROPOUT = 7, /* dropout: one value per element, step = layer << 40 | training step */
    DG_STREAM_SPLIT = 8,   /* choice of a class's images for the test split, step = class */
    /* order of the images in an evaluation: step = 0 for real images, 1 for samples. Fixed random numbers of metrics:
     * seed = 0 and step = 16 ... 63 (host/judge/random_net.h). Subsets of KID: step >= 64 (host/judge/kid.c). */
    DG_STREAM_JUDGE = 9,
    DG_STREAM_AUGMENT = 10,   /* augmentation: three Philox blocks per image, step = order << 40 | training step */
    DG_STREAM_STATISTICS = 11 /* noise z for the batch norm statistics of averaged weights, step = batch index */
};

static inline DG_HD uint64_t dg_subsequence(int stream, uint64_t step) { return (uint64_t)stream << 56 | step; }

/* The key increments per round are the bits of the golden ratio and of sqrt(3) - 1. */
enum { DG_PHILOX_ROUNDS = 10 };
static inline DG_HD void dg_philox_round(uint32_t c[4], uint64_t seed, uint32_t round)
{
    const uint32_t k0 = (uint32_t)seed + round * 0x9E3779B9u, k1 = (uint32_t)(seed >> 32) + round * 0xBB67AE85u;
    const uint64_t p0 = (uint64_t)0xD2511F53u * c[0], p1 = (uint64_t)0xCD9E8D57u * c[2];
    c[0] = (uint32_t)(p1 >> 32) ^ c[1] ^ k0;
    c[1] = (uint32_t)p1;
    c[2] = (uint32_t)(p0 >> 32) ^ c[3] ^ k1;
    c[3] = (uint32_t)p0;
}

static inline DG_HD void dg_philox(uint32_t out[4], uint64_t seed, uint64_t subsequence, uint64_t block)
{
    out[0] = (uint32_t)block;
    out[1] = (uint32_t)(block >> 32);
    out[2] = (uint32_t)subsequence;
    out[3] = (uint32_t)(subsequence >> 32);
    for (uint32_t round = 0; round < DG_PHILOX_ROUNDS; round++) dg_philox_round(out, seed, round);
}

/* Computes four independent N(0, 1) floats from the four words of a Philox block, by Box-Muller with cuRAND's scaling:
 * words 0 and 1 give normals 0 and 1, words 2 and 3 give normals 2 and 3. Equals curand_normal4 up to a few ulp. */
void dg_normal4(float out[4], uint64_t seed, uint64_t subsequence, uint64_t block);

void dg_random_bytes(void *out, size_t bytes, uint64_t seed, uint64_t subsequence);

void dg_permutation_of(int32_t *perm, int n, uint64_t seed, uint64_t subsequence);
static inline void dg_permutation(int32_t *perm, int n, uint64_t seed, uint64_t epoch)
{
    dg_permutation_of(perm, n, seed, dg_subsequence(DG_STREAM_SHUFFLE, epoch));
}
