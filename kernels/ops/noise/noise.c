/* Random latents z, computed by dg_normal4 on every instruction set. */
#include "kernels/cpu/cpu.h"
#include "core/base/rng.h"

DG_CPU_OP(noise, noise)
{
    const uint64_t step = a->stream == DG_STREAM_NOISE ? a->state->step : a->first_step;
    const uint64_t subsequence = dg_subsequence(a->stream, step);
    real *z = a->z;
#pragma omp parallel for schedule(static) if (a->n > 256)
    for (int64_t at = 0; at < a->n; at += 4) {
        float normal[4];
        dg_normal4(normal, a->state->seed, subsequence, (uint64_t)at / 4);
        int n = a->n - at < 4 ? (int)(a->n - at) : 4;
        for (int i = 0; i < n; i++) z[at + i] = (real)normal[i];
    }
}
