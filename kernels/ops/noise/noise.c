/* Random latents z, computed by dg_normal4 on every instruction set. */
#include "kernels/cpu/cpu.h"
#include "core/base/rng.h"

DG_CPU_OP(noise, noise)
{
    const uint64_t step = a->stream == DG_STREAM_NOISE ? a->state->step : a->first_step;
    const uint64_t subsequence = dg_subsequence(a->stream, step);
    real *z = a->z;
#pragma omp parallel for schedule(static) if (a->n > 256)
    for (int64_t block = a->first / 4; block <= (a->first + a->n - 1) / 4; block++) {
        float normal[4];
        dg_normal4(normal, a->state->seed, subsequence, (uint64_t)block);
        for (int k = 0; k < 4; k++) {
            const int64_t i = 4 * block + k - a->first;
            if (i >= 0 && i < a->n) z[i] = (real)normal[k];
        }
    }
}
