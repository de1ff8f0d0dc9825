/* Fragment layouts of mma for each element, as documented in the PTX ISA. */
#pragma once

#include "tests/devtest.h"

enum shape { BF16, F16, FP16 };
struct layout {
    int row, col;
};
/* Returns row and column of element i of a lane's fragment of A (16 x K), B (K x 8) or C (16 x 8). */
static __device__ inline layout element_a(int shape, int lane, int i)
{
    int group = lane >> 2, in_group = lane & 3;
    if (shape == BF16 || shape == FP16)
        return {group + (i < 2 || (i >= 4 && i < 6) ? 0 : 8), in_group * 2 + (i & 1) + (i >= 4 ? 8 : 0)};
    return {group + (i < 2 ? 0 : 8), in_group * 2 + (i & 1)};
}
static __device__ inline layout element_b(int shape, int lane, int i)
{
    int group = lane >> 2, in_group = lane & 3;
    if (shape == BF16 || shape == FP16) return {in_group * 2 + (i & 1) + (i < 2 ? 0 : 8), group};
    return {in_group * 2 + i, group};
}
static __device__ inline layout element_c(int lane, int i)
{
    return {(lane >> 2) + (i < 2 ? 0 : 8), (lane & 3) * 2 + (i & 1)};
}

static __device__ inline uint16_t bits16(int shape, float f)
{
    uint16_t u;
    if (shape == BF16) {
        __nv_bfloat16 h = __float2bfloat16(f);
        memcpy(&u, &h, 2);
    } else {
        __half h = __float2half(f);
        memcpy(&u, &h, 2);
    }
    return u;
}
