/* Peak throughput of an instruction set for `dcgan bench`: multiply-adds on registers, and memory bandwidth. */
#include "kernels/cpu/cpu.h"

#ifdef __AVX512F__
enum { BYTES = 64 };
#elif defined(__AVX__)
enum { BYTES = 32 };
#else
enum { BYTES = 16 };
#endif
enum { LANES = BYTES / (int)sizeof(real), CHAINS = 12 };
typedef real vec __attribute__((vector_size(BYTES)));
typedef real loose __attribute__((vector_size(BYTES), aligned(sizeof(real)), may_alias));

/* Returns the number of floating-point operations. Twelve chains hide the latency of multiply-adds (4 to 5 cycles, 2
 * started per cycle). Each chain tends to 1, which avoids overflow and denormals. */
double DG_CPU(dg_cpu_fma)(int64_t loops, double *sink)
{
    vec factor = {0}, rest = {0}, a0 = {0}, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11;
    for (int i = 0; i < LANES; i++) factor[i] = (real)0.75, rest[i] = (real)0.25, a0[i] = (real)i;
    a1 = a0 + rest, a2 = a1 + rest, a3 = a2 + rest, a4 = a3 + rest, a5 = a4 + rest, a6 = a5 + rest;
    a7 = a6 + rest, a8 = a7 + rest, a9 = a8 + rest, a10 = a9 + rest, a11 = a10 + rest;
    for (int64_t i = 0; i < loops; i++) {
        a0 = a0 * factor + rest, a1 = a1 * factor + rest, a2 = a2 * factor + rest, a3 = a3 * factor + rest;
        a4 = a4 * factor + rest, a5 = a5 * factor + rest, a6 = a6 * factor + rest, a7 = a7 * factor + rest;
        a8 = a8 * factor + rest, a9 = a9 * factor + rest, a10 = a10 * factor + rest, a11 = a11 * factor + rest;
    }
    a0 += a1 + a2 + a3 + a4 + a5 + a6 + a7 + a8 + a9 + a10 + a11;
    *sink = (double)a0[0]; /* uses the result, so that the compiler does not remove the loop */
    return 2.0 * CHAINS * LANES * (double)loops;
}

void DG_CPU(dg_cpu_triad)(void *out, const void *left, const void *right, int64_t n)
{
    real *a = out;
    const real *b = left, *c = right;
#pragma omp parallel for simd schedule(static)
    for (int64_t i = 0; i < n; i++) a[i] = b[i] + (real)0.5 * c[i];
}

/* Reads n numbers. The result only keeps the compiler from removing the reads. */
double DG_CPU(dg_cpu_read)(const void *in, int64_t n)
{
    double total = 0;
#pragma omp parallel for schedule(static) reduction(+ : total)
    for (int64_t at = 0; at < n; at += 4096) {
        const real *p = (const real *)in + at;
        int count = n - at < 4096 ? (int)(n - at) : 4096;
        vec s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
        for (int i = 0; i + 4 * LANES <= count; i += 4 * LANES) {
            s0 += *(const loose *)(p + i);
            s1 += *(const loose *)(p + i + LANES);
            s2 += *(const loose *)(p + i + 2 * LANES);
            s3 += *(const loose *)(p + i + 3 * LANES);
        }
        s0 += s1 + s2 + s3;
        total += (double)s0[0] + (double)s0[LANES - 1];
    }
    return total;
}
