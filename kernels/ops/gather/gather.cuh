/* Conversion of dataset images to values. All kernels compute equal bits. */
#pragma once

#include "kernels/dev/cuda.cuh"

static __device__ __forceinline__ bool dg_gather_mirrored(const dg_gather_args &a, int image)
{
    if (!a.flip) return false;
    uint32_t word[4];
    const unsigned place = (unsigned)(a.first + image);
    dg_philox(word, a.state->seed, dg_subsequence(DG_STREAM_FLIP, a.state->step), place / 4);
    const unsigned k = place % 4; /* word[k] would move the array to local memory */
    return ((k == 0 ? word[0] : k == 1 ? word[1] : k == 2 ? word[2] : word[3]) & 1) != 0;
}

static __device__ __forceinline__ const uint8_t *dg_gather_row(const dg_gather_args &a, int image)
{
    return a.data + a.perm[a.state->cursor + a.first + image] * a.record;
}

template <class real> static __device__ __forceinline__ real dg_gather_value(uint8_t byte, real dev, real shift)
{
    return (real)byte / dev - shift;
}

/* Returns dg_gather_value(byte, 127.5f, 1.0f), with equal bits but without a division. The quotient 1 / 127.5 is
 * 0x1.01010101...p-7. The product of a byte and 0x1.0101p-7 is exact. */
static __device__ __forceinline__ float dg_gather_signed_value(uint8_t byte)
{
    const float n = (float)byte;
    return fmaf(n, 0x1.0101p-7f, n * 0x1.010102p-31f) - 1.0f;
}
