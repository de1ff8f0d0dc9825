/* Rounds weights for tensor cores (dg_rounded in fused.h). */
#pragma once

#include "kernels/dev/mma.cuh"
#include "kernels/fused/fuse.cuh"

/* Rounds the weights at indices at to at + 3 of r.from. `at` must be a multiple of four. */
static __device__ __forceinline__ void dg_round_four(const dg_rounded &r, int64_t at, const dg_pack<float, 4> &v)
{
    float unit[8] = {};
#pragma unroll
    for (int e = 0; e < 4; e++) unit[e] = v.v[e];
    const uint4 u = r.math == DG_MATH_FP16 ? dg_mma_fp16::round(unit) : dg_mma_bf16::round(unit);
    dg_store<2>(static_cast<uint32_t *>(r.to) + (at >> 1), dg_pack<uint32_t, 2>{{u.x, u.y}});
}
