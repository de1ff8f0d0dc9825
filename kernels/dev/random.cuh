/* Normal random numbers. The header dev.cuh includes this file if DEV_RANDOM is defined. */
#pragma once

/* Returns four standard normal numbers from cuRAND's Philox generator. The numbers equal those of dg_normal4
 * (rng.h) within a few ulp. Unlike curand_normal4, this function uses accurate sines and cosines in the Box-Muller
 * transform. */
__device__ __forceinline__ float4 dev_normal4(uint64_t seed, uint64_t subsequence, uint64_t block)
{
    curandStatePhilox4_32_10_t state;
    curand_init(seed, subsequence, 4 * block, &state);
    uint4 word = curand4(&state);
    const float unit = 0x1p-32f, turn = 0x1p-32f * 6.2831855f;
    float r0 = sqrtf(-2.0f * logf(fmaf((float)word.x, unit, unit / 2)));
    float r1 = sqrtf(-2.0f * logf(fmaf((float)word.z, unit, unit / 2)));
    float s0, c0, s1, c1;
    sincosf(fmaf((float)word.y, turn, turn / 2), &s0, &c0);
    sincosf(fmaf((float)word.w, turn, turn / 2), &s1, &c1);
    return make_float4(r0 * s0, r0 * c0, r1 * s1, r1 * c1);
}
