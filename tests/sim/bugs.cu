/* Bugs planted in small kernels and in small host programs: `bugs --list` prints their names and the modes that must
 * find them, `bugs NAME` runs one, `bugs none` the same programs without. Exit 0: all results right. */
#define DEV_WGMMA
#include "kernels/fuse.cuh"
#include "kernels/mma.cuh"
#include "tests/sim/devtest.h"

enum bug {
    NONE, OVERWRITE, ROW_OFF, DIVERGENT_BARRIER, LAST_UNWRITTEN, BAD_BLOCK,
    LANE_MAP, SHALLOW_WAIT, NO_SYNCWARP, SKEWED_ROW, UNWAITED_COPY,
    UNPUBLISHED, EARLY_SUMS, REFILLED, ODD_WARP, STEPS_SWAPPED,
    NO_BARRIER_BY_LUCK, GHOST_WARPS, DIVERGENT_SHUFFLE, SHARED_WORD,
    WIDE_TAIL, FAR_WRITE, FREED, INT_INDEX, HOST_POINTER, BLOCK_ORDER, NO_GRID_SYNC, POOL_OVERRUN,
    EARLY_READ, EARLY_REFILL, NO_EVENT, BY_VALUE, LAST_TOO_EARLY, COUNTER_LEFT, NOT_AWAITED,
    USED_EARLY, LOADED_EARLY, NEVER_WAITS, LETS_GO_EARLY,
    STAYS_SCALED, NOT_SCALED, TOO_LARGE
};

static int wrong;
static void compare(const char *what, const std::vector<float> &got, const std::vector<float> &want, double tolerance = 0)
{
    for (size_t i = 0; i < want.size(); i++)
        if (!(fabs(got[i] - want[i]) <= tolerance)) {
            printf("%s: %s[%zu] = %g, not %g\n", isnan(got[i]) ? "NaN" : "value", what, i, got[i], want[i]);
            wrong = 1;
            return;
        }
}
static void launched()
{
    dev_fault fault = dev_take_fault();
    if (fault.error || cudaDeviceSynchronize()) {
        printf("launch: %s\n", cudaGetErrorName(fault.error ? fault.error : cudaGetLastError()));
        exit(1);
    }
}

/* ---- y = x backwards in tiles of 64, through shared memory ---- */

template <int B> static __global__ void backwards(float *y, const float *x, int n)
{
    SHARED(float, tile, [4][16]);
    DEV_CHECK(blockDim.x == 64);
    const int i = threadIdx.x;
    for (int t = 0; t < n; t += 64) {
        const int row = i / 16 + (B == ROW_OFF);
        tile[row][i % 16] = t + i < n ? x[t + i] : 0;
        if (B == DIVERGENT_BARRIER) {
            if (t + i < n) __syncthreads();
        } else {
            __syncthreads();
        }
        const int from = 63 - i;
        if (t + i < n - (B == LAST_UNWRITTEN)) y[t + i] = tile[from / 16][from % 16];
        if (B != OVERWRITE) __syncthreads();
    }
}
template <int B> static void run_backwards()
{
    const int n = 64 * 3 + 40;
    dev_buffer<float> x(dev_random(n, 1)), y(n);
    KLAUNCH((backwards<B>), 1, B == BAD_BLOCK ? 128 : 64, 0, 0, y.p, x.p, n);
    launched();
    std::vector<float> in = x.get(), want(n);
    for (int i = 0; i < n; i++) {
        int from = i / 64 * 64 + 63 - i % 64;
        want[i] = from < n ? in[from] : 0;
    }
    compare("y", y.get(), want);
}

/* ---- C = A * B in bf16 by one warp: cp.async two stages deep, ldmatrix, mma ---- */

static const int DEPTH = 64; /* A (16, DEPTH), B (8, DEPTH), C (16, 8) */
template <int B> static __global__ void product(float *c, const __nv_bfloat16 *a, const __nv_bfloat16 *b)
{
    enum { ROW = B == SKEWED_ROW ? 20 : 24 };
    SHARED(__nv_bfloat16, sa, [2][16][ROW]);
    SHARED(__nv_bfloat16, sb, [2][8][ROW]);
    const int lane = threadIdx.x;
    auto load = [&](int k, int stage) {
        int row = lane / 2, col = lane % 2 * 8;
        if (B == SKEWED_ROW) { /* too short rows, filled by ordinary stores */
            for (int i = 0; i < 8; i++) sa[stage][row][col + i] = a[row * DEPTH + k + col + i];
        } else {
            cp_async16(&sa[stage][row][col], a + row * DEPTH + k + col, true);
        }
        if (row < 8) {
            if (B == SKEWED_ROW)
                for (int i = 0; i < 8; i++) sb[stage][row][col + i] = b[row * DEPTH + k + col + i];
            else
                cp_async16(&sb[stage][row][col], b + row * DEPTH + k + col, true);
        }
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
        } else if (B != UNWAITED_COPY) {
            cp_async_wait<0>();
        }
        if (B != NO_SYNCWARP) __syncwarp();
        uint32_t fa[4], fb[2];
        ldsm_x4(fa, &sa[stage][lane % 16][lane / 16 * 8]);
        ldsm_x2(fb, &sb[stage][lane % 8][lane / 8 % 2 * 8]);
        mma_bf16(sum, fa, fb);
        __syncwarp();
    }
    for (int i = 0; i < 4; i++) {
        int row = lane / 4 + i / 2 * 8, col = lane % 4 * 2 + i % 2;
        if (B == LANE_MAP) row = lane / 4 + i % 2 * 8, col = lane % 4 * 2 + i / 2;
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

/* ---- C = A * B in bf16 by one warpgroup, 16 of k at a time through one buffer ---- */

template <int B> static __global__ void wide_product(float *c, const float *a, const float *b) /* A (64, 32), B (32, 32) */
{
    SHARED(uint4, s, [2 * 64 + 2 * 32]); /* planes of A, planes of B: 8 k of all rows and of all columns */
    const int i = (int)threadIdx.x, lane = i % 32;
    auto eight = [](const float *v, int step) {
        return make_uint4(to_bf16x2(v[0], v[step]), to_bf16x2(v[2 * step], v[3 * step]), to_bf16x2(v[4 * step], v[5 * step]),
                          to_bf16x2(v[6 * step], v[7 * step]));
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
        wgmma_bf16<false>(d, dev_matrix::of(s, plane, eight_rows), dev_matrix::of(s + 128 - (B == ODD_WARP && i >= 96), 32, 8));
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
    for (int e = 0; e < 16; e++) c[(i / 32 * 16 + lane / 4 + e / 2 % 2 * 8) * 32 + e / 4 * 8 + lane % 4 * 2 + e % 2] = d[e / 4][e % 4];
    if (B == EARLY_SUMS) wgmma_wait(d);
}
template <int B> static void run_wide_product()
{
    std::vector<float> a(64 * 32), b(32 * 32), want(64 * 32); /* exact in bf16 */
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

/* ---- sums of rows: warps by shuffles, then the last warp adds the partial sums ---- */

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
    if (B == DIVERGENT_SHUFFLE) {
        if (lane < warps) s = warp_sum(s);
    } else {
        s = warp_sum(s);
    }
    if (lane) return;
    y[blockIdx.x] = s;
    if (B == SHARED_WORD) *total += s; /* every block, unordered */
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
    const float f = B == HOST_POINTER ? 3 : *a.factor;
    if (i + 3 < a.n || (B == WIDE_TAIL && i < a.n)) {
        float4 v = *(float4 *)(a.y + i);
        *(float4 *)(a.y + i) = make_float4(v.x * f, v.y * f, v.z * f, v.w * f);
    } else {
        for (; i < a.n; i++) a.y[i] *= f;
    }
    if (B == FAR_WRITE && i == 0) a.y[a.n + 100000] = 0;
    if (B == INT_INDEX) { /* right by luck: the lost bits do not matter */
        int row = threadIdx.x + 60000;
        if ((unsigned)(row * 70000) % 16 != (unsigned)row * 70000u % 16) a.y[0] = 0;
    }
}
template <int B> static void run_scale()
{
    const int n = 66;
    float host_factor = 3, *freed = nullptr;
    dev_buffer<float> y(dev_random(n, 5)), factor(std::vector<float>{3});
    std::vector<float> want = y.get();
    for (float &f : want) f *= 3;
    if (B == FREED) {
        if (cudaMalloc(&freed, 4) || cudaMemcpy(freed, &host_factor, 4, cudaMemcpyHostToDevice) || cudaFree(freed)) exit(2);
    }
    scaled a = {n, B == HOST_POINTER ? &host_factor : B == FREED ? freed : factor.p, y.p};
    KLAUNCH((scale<B>), 1, 32, 0, 0, a);
    launched();
    compare("y", y.get(), want, 1e-6);
}

/* y = running maximum of blocks; x = shift(shift(x)); two arrays of a pool */
template <int B> static __global__ void chain(float *y, const float *x)
{
    float before = 0;
    if (B == BLOCK_ORDER) before = blockIdx.x ? y[blockIdx.x - 1] : 0; /* the block before is surely done */
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
    if (B == POOL_OVERRUN && i == n - 1) a[n] = 0; /* lands in b[0], or in nothing */
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

/* ---- the last of several blocks adds up what all of them left ---- */

template <int B> static __global__ void last_adds(float *sum, float *part, unsigned *counter, const float *x)
{
    if (threadIdx.x == 0) part[blockIdx.x] = x[2 * blockIdx.x] + x[2 * blockIdx.x + 1];
    if (!dg_comes_last(counter, gridDim.x - (B == LAST_TOO_EARLY)) || threadIdx.x) return;
    float all = 0;
    for (unsigned b = 0; b < gridDim.x; b++) all += part[b];
    *sum += all;
    if (B == COUNTER_LEFT) *counter = 1;
}
template <int B> static void run_last()
{
    const int blocks = 7;
    std::vector<float> values(2 * blocks + 2);
    for (size_t i = 0; i < values.size(); i++) values[i] = (float)i;
    dev_buffer<float> x(values), part(blocks), sum(std::vector<float>{0});
    dev_buffer<unsigned> counter(std::vector<unsigned>{0});
    float want = 0;
    for (int k = 0; k < 3; k++) { /* of other values each time */
        KLAUNCH((last_adds<B>), blocks, 32, 0, 0, sum.p, part.p, counter.p, x.p + k);
        for (int i = 0; i < 2 * blocks; i++) want += (float)(i + k);
    }
    launched();
    compare("sum of three launches", sum.get(), {want});
}

/* ---- blocks that wait for others: two copy *x, then one changes it ---- */

template <int B> static __global__ void in_turns(float *y, float *x, unsigned *counter)
{
    SHARED(unsigned, ticket, );
    if (threadIdx.x == 0) ticket = atomicAdd(counter, 1u);
    __syncthreads();
    if (ticket < 2) {
        y[ticket * blockDim.x + threadIdx.x] = *x;
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0) atomicAdd(counter + 1, 1u);
    } else if (threadIdx.x == 0) {
        while (B != NOT_AWAITED && atomicAdd(counter + 1, 0u) < 2) __nanosleep(50);
        __threadfence();
        *x = 0;
    }
}
template <int B> static void run_in_turns()
{
    dev_buffer<float> y(128), x(std::vector<float>{3});
    dev_buffer<unsigned> counter(std::vector<unsigned>{0, 0});
    KLAUNCH((in_turns<B>), 3, 64, 0, 0, y.p, x.p, counter.p);
    launched();
    compare("y", y.get(), std::vector<float>(128, 3));
    compare("x", x.get(), std::vector<float>{0});
}

/* ---- host programs: batches through two pinned buffers on a copy stream, computed on another; a captured step ---- */

static __global__ void accumulate(float *sum, const float *x, int n)
{
    for (int i = 0; i < n; i++) *sum += x[i];
}
static __global__ void step_kernel(float *w, const float *rate, float fixed) { *w += rate ? *rate : fixed; }

template <int B> static void run_stream()
{
    const int n = 32, batches = 5;
    float *pinned[2], *result;
    cudaStream_t copy, compute;
    cudaEvent_t arrived[2], used[2];
    dev_buffer<float> x0(n), x1(n), sum(std::vector<float>{0});
    float *x[2] = {x0.p, x1.p};
    cudaMallocHost(&result, 4);
    *result = -1;
    cudaStreamCreateWithFlags(&copy, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking);
    for (int i = 0; i < 2; i++) {
        cudaMallocHost(&pinned[i], n * sizeof(float));
        cudaEventCreate(&arrived[i]);
        cudaEventCreate(&used[i]);
    }
    float want = 0;
    for (int b = 0; b < batches; b++) {
        const int k = b % 2;
        if (b >= 2 && B != EARLY_REFILL) cudaEventSynchronize(arrived[k]); /* the buffer has been read */
        for (int i = 0; i < n; i++) pinned[k][i] = (float)(b * n + i);
        for (int i = 0; i < n; i++) want += (float)(b * n + i);
        if (b >= 2) cudaStreamWaitEvent(copy, used[k]); /* so has the copy */
        cudaMemcpyAsync(x[k], pinned[k], n * sizeof(float), cudaMemcpyHostToDevice, copy);
        cudaEventRecord(arrived[k], copy);
        if (B != NO_EVENT) cudaStreamWaitEvent(compute, arrived[k]);
        KLAUNCH(accumulate, 1, 1, 0, compute, sum.p, x[k], n);
        cudaEventRecord(used[k], compute);
    }
    cudaMemcpyAsync(result, sum.p, 4, cudaMemcpyDeviceToHost, compute);
    if (B != EARLY_READ) cudaStreamSynchronize(compute);
    compare("sum", {*result}, {want});
    launched();
    for (int i = 0; i < 2; i++) {
        cudaFreeHost(pinned[i]);
        cudaEventDestroy(arrived[i]);
        cudaEventDestroy(used[i]);
    }
    cudaFreeHost(result);
    cudaStreamDestroy(copy);

    dev_buffer<float> w(std::vector<float>{0}), rate(std::vector<float>{1});
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    float now = 1;
    cudaStreamBeginCapture(compute, cudaStreamCaptureModeGlobal);
    KLAUNCH(step_kernel, 1, 1, 0, compute, w.p, B == BY_VALUE ? nullptr : rate.p, now);
    cudaStreamEndCapture(compute, &graph);
    cudaGraphInstantiateWithFlags(&exec, graph, 0);
    for (; now < 4; now++) {
        rate.put({now});
        cudaGraphLaunch(exec, compute);
        cudaStreamSynchronize(compute);
    }
    launched();
    compare("w", w.get(), {6});
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    cudaStreamDestroy(compute);
}

/* ---- Three kernels in a row, each of which may start early: y = w w w x, with w from before all of them ---- */

template <int B> static __global__ void link_of_chain(float *y, const float *x, const float *w, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float factor = 0, early = 0;
    if (i < n) factor = grid_early_load(&w[i]);
    if (B == USED_EARLY && i < n) early = x[i];
    if (B == LOADED_EARLY && i < n) early = grid_early_load(&x[i]);
    if (B == LETS_GO_EARLY) grid_dependents_launch();
    if (B == NEVER_WAITS && i >= n) return;
    grid_dependency_wait();
    grid_dependents_launch();
    if (i < n) y[i] = factor * (B == USED_EARLY || B == LOADED_EARLY ? early : x[i]);
}
template <int B> static void run_chain()
{
    const int n = 200;
    dev_buffer<float> w(dev_random(n, 1)), x(dev_random(n, 2)), y(n), z(n), u(n);
    KLAUNCH_AFTER(link_of_chain<NONE>, 4, 64, 0, 0, y.p, x.p, w.p, n);
    KLAUNCH_AFTER(link_of_chain<B>, 4, 64, 0, 0, z.p, y.p, w.p, n);
    KLAUNCH_AFTER(link_of_chain<NONE>, 4, 64, 0, 0, u.p, z.p, w.p, n);
    launched();
    const std::vector<float> f = w.get(), in = x.get();
    std::vector<float> want(n);
    for (int i = 0; i < n; i++) want[i] = f[i] * (f[i] * (f[i] * in[i]));
    compare("u", u.get(), want);
}

/* ---- C = A * B in fp16 by one warp, of gradients A that are too small for it, but for one that is too large ---- */

template <int B> static __global__ void scaled_product(float *c, const float *a, const float *b, int shift)
{
    SHARED(uint4, units, [2 * 16 + 2 * 8]); /* planes of A, of B */
    const int i = threadIdx.x;
    float v[8];
    for (int e = 0; e < 8; e++) v[e] = a[i % 16 * 16 + i / 16 * 8 + e] * dg_power_of_two(B == NOT_SCALED ? 0 : shift);
    units[i] = B == TOO_LARGE ? make_uint4(to_fp16x2(v[0], v[1]), to_fp16x2(v[2], v[3]), to_fp16x2(v[4], v[5]), to_fp16x2(v[6], v[7]))
                              : dg_mma_fp16::round(v);
    for (int e = 0; e < 8; e++) v[e] = b[i % 8 * 16 + i / 8 % 2 * 8 + e];
    if (i < 16) units[32 + i] = dg_mma_fp16::round(v);
    __syncwarp();
    dg_sums<dg_mma_fp16, 1, 2> sums;
    uint32_t fa[1][4], fb[1][4], two[2];
    sums.clear();
    ldsm_x4(fa[0], units + i);
    ldsm_x2(two, units + 32 + i % 16);
    fb[0][0] = fb[0][2] = two[0];
    fb[0][1] = fb[0][3] = two[1];
    sums.add(fa, fb);
    if (B != STAYS_SCALED) sums.times(dg_power_of_two(-shift));
    for (int row = 0; row < 2; row++) sums.store(c + (row * 8 + i / 4) * 8, row, i % 4 * 2, 8);
}
template <int B> static void run_scaled_product()
{
    const int shift = 18;
    std::vector<float> a = dev_random(16 * 16, 7), b = dev_random(8 * 16, 8), want(16 * 8);
    for (float &f : a) f = ldexpf(f, -shift - 6);
    a[5] = 1; /* beyond the range: brought to its end */
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 8; j++)
            for (int k = 0; k < 16; k++)
                want[i * 8 + j] += (float)(dev_rounded(a[i * 16 + k], DG_MATH_FP16, shift) * dev_rounded(b[j * 16 + k], DG_MATH_FP16));
    dev_buffer<float> da(a), db(b), c(16 * 8);
    KLAUNCH((scaled_product<B>), 1, 32, 0, 0, c.p, da.p, db.p, shift);
    launched();
    compare("c", c.get(), want, 2e-8f);
}

/* name, the modes that must find it and as what, the program */
static const struct {
    const char *name, *found;
    void (*run)();
} bugs[] = {
    {"overwritten-tile", "forward=value reverse=value random=value tsan=race", run_backwards<OVERWRITE>},
    {"row-off-by-one", "forward=red-zone reverse=red-zone asan=ubsan", run_backwards<ROW_OFF>},
    {"divergent-barrier", "forward=divergent reverse=divergent random=divergent asan=divergent", run_backwards<DIVERGENT_BARRIER>},
    {"last-unwritten", "forward=NaN reverse=NaN asan=NaN tsan=NaN", run_backwards<LAST_UNWRITTEN>},
    {"block-not-tile", "forward=check asan=check tsan=check", run_backwards<BAD_BLOCK>},
    {"lane-map", "forward=value reverse=value asan=value tsan=value", run_product<LANE_MAP>},
    {"shallow-wait", "lazy=NaN", run_product<SHALLOW_WAIT>},
    {"missing-syncwarp", "forward=NaN tsan=race", run_product<NO_SYNCWARP>},
    {"skewed-ldmatrix-row", "forward=address asan=address tsan=address", run_product<SKEWED_ROW>},
    {"copy-never-awaited", "forward=cp.async reverse=cp.async lazy=cp.async asan=cp.async", run_product<UNWAITED_COPY>},
    {"unpublished-factors", "forward=wgmma lazy=wgmma asan=wgmma tsan=wgmma", run_wide_product<UNPUBLISHED>},
    {"sums-read-in-flight", "forward=NaN lazy=NaN asan=NaN", run_wide_product<EARLY_SUMS>},
    {"factors-refilled-early", "lazy=value tsan=race", run_wide_product<REFILLED>},
    {"diverged-warpgroup", "forward=wgmma reverse=wgmma asan=wgmma tsan=wgmma", run_wide_product<ODD_WARP>},
    {"steps-swapped", "forward=value lazy=value asan=address", run_wide_product<STEPS_SWAPPED>},
    {"barrier-missing-by-luck", "reverse=NaN tsan=race", run_row_sums<NO_BARRIER_BY_LUCK>},
    {"ghost-warps", "forward=NaN reverse=NaN asan=NaN tsan=NaN", run_row_sums<GHOST_WARPS>},
    {"divergent-shuffle", "forward=exited reverse=exited asan=exited tsan=exited", run_row_sums<DIVERGENT_SHUFFLE>},
    {"unordered-sum", "tsan=race", run_row_sums<SHARED_WORD>},
    {"wide-tail", "asan=asan", run_scale<WIDE_TAIL>},
    {"far-write", "forward=address asan=asan", run_scale<FAR_WRITE>},
    {"freed-argument", "forward=argument asan=argument tsan=argument", run_scale<FREED>},
    {"int-index", "asan=ubsan", run_scale<INT_INDEX>},
    {"host-pointer-in-struct", "forward=argument asan=argument tsan=argument", run_scale<HOST_POINTER>},
    {"block-order", "reverse=value random=value tsan=race", run_blocks<BLOCK_ORDER>},
    {"missing-grid-barrier", "forward=NaN reverse=value tsan=race", run_blocks<NO_GRID_SYNC>},
    {"pool-overrun", "forward=red-zone reverse=red-zone asan=asan", run_blocks<POOL_OVERRUN>},
    {"last-too-early", "forward=NaN reverse=NaN tsan=race", run_last<LAST_TOO_EARLY>},
    {"not-awaited", "tsan=race", run_in_turns<NOT_AWAITED>},
    {"counter-left", "forward=value reverse=value asan=value", run_last<COUNTER_LEFT>},
    {"result-read-early", "deferred=value", run_stream<EARLY_READ>},
    {"buffer-refilled-early", "deferred=value", run_stream<EARLY_REFILL>},
    {"missing-event", "deferred=value", run_stream<NO_EVENT>},
    {"captured-by-value", "forward=value deferred=value", run_stream<BY_VALUE>},
    {"used-before-the-wait", "forward=address reverse=address random=address asan=asan tsan=race", run_chain<USED_EARLY>},
    {"loaded-before-the-wait", "tsan=race", run_chain<LOADED_EARLY>},
    {"some-never-wait", "forward=exited reverse=exited random=exited asan=exited tsan=exited", run_chain<NEVER_WAITS>},
    {"lets-go-before-the-wait", "forward=early reverse=early asan=early tsan=early", run_chain<LETS_GO_EARLY>},
    {"sums-stay-scaled", "forward=value reverse=value asan=value tsan=value", run_scaled_product<STAYS_SCALED>},
    {"gradients-not-scaled", "forward=value reverse=value asan=value tsan=value", run_scaled_product<NOT_SCALED>},
    {"gradient-made-infinite", "forward=value reverse=value asan=value tsan=value", run_scaled_product<TOO_LARGE>},
    {"none", "", [] {
         run_backwards<NONE>();
         run_product<NONE>();
         run_wide_product<NONE>();
         run_row_sums<NONE>();
         run_scale<NONE>();
         run_blocks<NONE>();
         run_last<NONE>();
         run_in_turns<NONE>();
         run_stream<NONE>();
         run_chain<NONE>();
         run_scaled_product<NONE>();
     }},
};

int main(int argc, char **argv)
{
    sim::opt.threads = 1; /* what is found may not depend on the machine */
    for (auto &b : bugs) {
        if (argc == 2 && !strcmp(argv[1], "--list")) printf("%s %s\n", b.name, b.found);
        if (argc == 2 && !strcmp(argv[1], b.name)) {
            b.run();
            return wrong;
        }
    }
    return argc == 2 && !strcmp(argv[1], "--list") ? 0 : 2;
}
