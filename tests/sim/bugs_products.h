/* Planted bugs in matrix products by a warp and by a warpgroup. */
#pragma once

#include "kernels/fused/fuse.cuh"
#include "kernels/dev/mma.cuh"
#include "tests/sim/bugs.h"

/* ---- C = A * B in bf16 by one warp: cp.async two stages deep, ldmatrix, mma ---- */

static const int DEPTH = 64; /* A (16, DEPTH), B (8, DEPTH), C (16, 8) */
template <int B> static __global__ void product(float *c, const __nv_bfloat16 *a, const __nv_bfloat16 *b)
{
    SHARED(__nv_bfloat16, sa, [2][16][24]);
    SHARED(__nv_bfloat16, sb, [2][8][24]);
    const int lane = threadIdx.x;
    auto load = [&](int k, int stage) {
        int row = lane / 2, col = lane % 2 * 8;
        cp_async16(&sa[stage][row][col], a + row * DEPTH + k + col, true);
        if (row < 8) cp_async16(&sb[stage][row][col], b + row * DEPTH + k + col, true);
        cp_async_commit();
    };
    float sum[4] = {0, 0, 0, 0};
    load(0, 0);
    for (int k = 0; k < DEPTH; k += 16) {
        const int stage = k / 16 % 2;
        if (k + 16 < DEPTH) {
            load(k + 16, stage ^ 1);
            if (B == SHALLOW_WAIT) cp_async_wait<2>();
            else cp_async_wait<1>();
        } else {
            cp_async_wait<0>();
        }
        if (B != NO_SYNCWARP) __syncwarp();
        uint32_t fa[4], fb[4];
        ldsm_x4(fa, &sa[stage][lane % 16][lane / 16 * 8]);
        ldsm_x4(fb, &sb[stage][lane % 8][lane / 8 % 2 * 8]); /* loads two matrices twice */
        mma_bf16(sum, fa, {fb[0], fb[1]});
        __syncwarp();
    }
    for (int i = 0; i < 4; i++) {
        int row = lane / 4 + i / 2 * 8, col = lane % 4 * 2 + i % 2;
        c[row * 8 + col] = sum[i];
    }
}
template <int B> static void run_product()
{
    std::vector<float> a = dev_random(16 * DEPTH, 2), b = dev_random(8 * DEPTH, 3), want(16 * 8);
    std::vector<__nv_bfloat16> ha, hb;
    for (float f : a) ha.push_back(__float2bfloat16(f));
    for (float f : b) hb.push_back(__float2bfloat16(f));
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 8; j++)
            for (int k = 0; k < DEPTH; k++)
                want[i * 8 + j] += __bfloat162float(ha[i * DEPTH + k]) * __bfloat162float(hb[j * DEPTH + k]);
    dev_buffer<__nv_bfloat16> da(ha), db(hb);
    dev_buffer<float> c(16 * 8);
    KLAUNCH((product<B>), 1, 32, 0, 0, c.p, da.p, db.p);
    launched();
    compare("c", c.get(), want, 1e-4);
}

/* ---- C = A * B in bf16 by one warpgroup, 16 values of k at a time through one buffer ---- */

/* A (64, 32), B (32, 32) */
template <int B> static __global__ void wide_product(float *c, const float *a, const float *b)
{
    SHARED(uint4, s, [2 * 64 + 2 * 32]); /* planes of A, then of B, with 8 values of k for all rows or columns */
    const int i = (int)threadIdx.x, lane = i % 32;
    auto eight = [](const float *v, int step) {
        return make_uint4(to_bf16x2(v[0], v[step]), to_bf16x2(v[2 * step], v[3 * step]),
                          to_bf16x2(v[4 * step], v[5 * step]), to_bf16x2(v[6 * step], v[7 * step]));
    };
    auto fill = [&](int k) {
        s[i] = eight(a + i % 64 * 32 + k + i / 64 * 8, 1);
        if (i < 64) s[128 + i] = eight(b + (k + i / 32 * 8) * 32 + i % 32, 32);
        if (B != UNPUBLISHED || i >= 64) wgmma_publish();
    };
    float d[4][4] = {};
    fill(0);
    for (int k = 0; k < 32; k += 16) {
        __syncthreads();
        wgmma_begin(d);
        const int plane = B == STEPS_SWAPPED ? 8 : 64, eight_rows = B == STEPS_SWAPPED ? 64 : 8;
        wgmma_bf16<false>(d, dev_matrix::of(s, plane, eight_rows),
                          dev_matrix::of(s + 128 - (B == ODD_WARP && i >= 96), 32, 8));
        wgmma_commit();
        if (B != REFILLED) wgmma_wait(d);
        if (B != REFILLED) __syncthreads();
        if (k == 0) fill(16);
        if (B == REFILLED) wgmma_wait(d);
    }
    if (B == EARLY_SUMS) {
        wgmma_begin(d);
        wgmma_bf16<false>(d, dev_matrix::of(s, 64, 8), dev_matrix::of(s + 128, 32, 8));
        wgmma_commit();
    }
    for (int e = 0; e < 16; e++)
        c[(i / 32 * 16 + lane / 4 + e / 2 % 2 * 8) * 32 + e / 4 * 8 + lane % 4 * 2 + e % 2] = d[e / 4][e % 4];
    if (B == EARLY_SUMS) wgmma_wait(d);
}
template <int B> static void run_wide_product()
{
    std::vector<float> a(64 * 32), b(32 * 32), want(64 * 32); /* values are exact in bf16 */
    for (size_t i = 0; i < a.size(); i++) a[i] = (float)(i * 7 % 13) / 8 - 1;
    for (size_t i = 0; i < b.size(); i++) b[i] = (float)(i * 5 % 11) / 8;
    for (int i = 0; i < 64; i++)
        for (int j = 0; j < 32; j++)
            for (int k = 0; k < 32; k++) want[i * 32 + j] += a[i * 32 + k] * b[k * 32 + j];
    dev_buffer<float> da(a), db(b), c(64 * 32);
    KLAUNCH((wide_product<B>), 1, 128, 0, 0, c.p, da.p, db.p);
    launched();
    compare("c", c.get(), want);
}
