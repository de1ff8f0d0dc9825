/* Planted bugs in the threads of a block, in the blocks of a grid, and in their accesses to memory. */
#pragma once

#include "tests/sim/bugs.h"

/* ---- y = x reversed, in tiles of 64, through shared memory ---- */

template <int B> static __global__ void backwards(float *y, const float *x, int n)
{
    SHARED(float, tile, [4][16]);
    const int i = threadIdx.x;
    for (int t = 0; t < n; t += 64) {
        const int row = i / 16 + (B == ROW_OFF);
        tile[row][i % 16] = t + i < n ? x[t + i] : 0;
        __syncthreads();
        const int from = 63 - i;
        if (t + i < n - (B == LAST_UNWRITTEN)) y[t + i] = tile[from / 16][from % 16];
        if (B != OVERWRITE) __syncthreads();
    }
}
template <int B> static void run_backwards()
{
    const int n = 64 * 3 + 40;
    dev_buffer<float> x(dev_random(n, 1)), y(n);
    KLAUNCH((backwards<B>), 1, 64, 0, 0, y.p, x.p, n);
    launched();
    std::vector<float> in = x.get(), want(n);
    for (int i = 0; i < n; i++) {
        int from = i / 64 * 64 + 63 - i % 64;
        want[i] = from < n ? in[from] : 0;
    }
    compare("y", y.get(), want);
}

/* ---- sums of a matrix's rows: warps sum by shuffles, then one warp adds the partial sums ---- */

static __device__ __forceinline__ float warp_sum(float v)
{
    for (int d = 16; d; d /= 2) v += __shfl_xor_sync(0xffffffffu, v, d);
    return v;
}
template <int B> static __global__ void row_sums(float *y, float *total, const float *x, int n)
{
    SHARED(float, part, [32]);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    float s = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) s += x[blockIdx.x * n + i];
    s = warp_sum(s);
    if (lane == 0) part[warp] = s;
    if (B != NO_BARRIER_BY_LUCK) __syncthreads();
    if (warp != warps - 1) return;
    s = B == GHOST_WARPS || lane < warps ? part[lane] : 0;
    s = warp_sum(s);
    if (lane) return;
    y[blockIdx.x] = s;
    if (B == SHARED_WORD) *total += s; /* every block adds to `total` without synchronisation */
}
template <int B> static void run_row_sums()
{
    const int rows = 5, n = 300;
    dev_buffer<float> x(dev_random(rows * n, 4)), y(rows), total(std::vector<float>{0});
    KLAUNCH((row_sums<B>), rows, 128, 0, 0, y.p, total.p, x.p, n);
    launched();
    std::vector<float> in = x.get(), want(rows);
    float sum = 0;
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < n; i++) want[r] += in[r * n + i];
    for (float f : want) sum += f;
    compare("y", y.get(), want, 1e-4);
    if (B == SHARED_WORD) compare("total", total.get(), {sum}, 1e-4);
}

/* ---- memory ---- */

struct scaled {
    int n;
    const float *factor;
    float *y;
};
template <int B> static __global__ void scale(const scaled a)
{
    int i = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    const float f = *a.factor;
    if (i + 3 < a.n || (B == WIDE_TAIL && i < a.n)) {
        float4 v = *(float4 *)(a.y + i);
        *(float4 *)(a.y + i) = make_float4(v.x * f, v.y * f, v.z * f, v.w * f);
    } else {
        for (; i < a.n; i++) a.y[i] *= f;
    }
    if (B == FAR_WRITE && i == 0) a.y[a.n + 100000] = 0;
    if (B == INT_INDEX) { /* the product overflows an int, but the result happens to be correct */
        int row = threadIdx.x + 60000;
        if ((unsigned)(row * 70000) % 16 != (unsigned)row * 70000u % 16) a.y[0] = 0;
    }
}
template <int B> static void run_scale()
{
    const int n = 66;
    dev_buffer<float> y(dev_random(n, 5)), factor(std::vector<float>{3});
    std::vector<float> want = y.get();
    for (float &f : want) f *= 3;
    KLAUNCH((scale<B>), 1, 32, 0, 0, scaled{n, factor.p, y.p});
    launched();
    compare("y", y.get(), want, 1e-6);
}

/* three programs: a running maximum over blocks, two shifts, and two arrays in dynamic shared memory */
template <int B> static __global__ void chain(float *y, const float *x)
{
    float before = 0;
    /* bug: assumes that the previous block has finished */
    if (B == BLOCK_ORDER) before = blockIdx.x ? y[blockIdx.x - 1] : 0;
    else
        for (unsigned i = 0; i < blockIdx.x; i++) before = fmaxf(before, x[i]);
    y[blockIdx.x] = fmaxf(before, x[blockIdx.x]);
}
template <int B> static __global__ void shift(float *x, float *t, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    t[i] = x[(i + 1) % n];
    if (B != NO_GRID_SYNC) GRID_SYNC();
    x[i] = t[(i + 1) % n];
}
template <int B> static __global__ void pool_sum(float *y, const float *x, int n)
{
    dev_pool pool;
    float *a = pool.take<float>(n), *b = pool.take<float>(n);
    const int i = threadIdx.x;
    a[i] = x[i];
    if (B == POOL_OVERRUN && i == n - 1) a[n] = 0; /* writes to b[0] or to unused memory */
    __syncthreads();
    b[i] = a[(i + 1) % n];
    __syncthreads();
    y[i] = a[i] + b[(i + 1) % n];
}
template <int B> static void run_blocks()
{
    const int n = 128;
    dev_buffer<float> x(dev_random(n, 6)), y(n), z(n), t(n), u(32);
    std::vector<float> in = x.get(), most(n), shifted(n), sums(32);
    for (int i = 0; i < n; i++) {
        most[i] = fmaxf(i ? most[i - 1] : 0, in[i]);
        shifted[i] = in[(i + 2) % n];
    }
    for (int i = 0; i < 32; i++) sums[i] = in[i] + in[(i + 2) % 32];
    KLAUNCH((chain<B>), n, 1, 0, 0, y.p, x.p);
    KLAUNCH((pool_sum<B>), 1, 32, 2 * dev_pool_bytes<float>(32), 0, u.p, x.p, 32);
    KLAUNCH_COOP((shift<B>), 4, 32, 0, 0, x.p, t.p, n);
    launched();
    compare("most", y.get(), most);
    compare("sums", u.get(), sums);
    compare("shifted", x.get(), shifted);
}
