/* Tests indices, orders of execution, shuffles, votes and atomics in simulated kernels. Memory must start as NaN, and
 * asynchronous copies must complete late. */
#include <algorithm>
#include "tests/devtest.h"

/* ---- order ---- */

static __global__ void log_kernel(int *log, int *next)
{
    int me = ((blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x) * 100 +
             (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    log[atomicAdd(next, 1)] = me;
}

static std::vector<int> order_of(sim::thread_order order, unsigned seed, int threads)
{
    sim::options before = sim::opt;
    sim::opt.order = order;
    sim::opt.seed = seed;
    sim::opt.threads = threads;
    dev_buffer<int> log(24 * 24), next(std::vector<int>{0});
    KLAUNCH(log_kernel, dim3(2, 4, 3), dim3(3, 4, 2), 0, 0, log.p, next.p);
    DG_CHECK(dev_ok("log"));
    sim::opt = before;
    return log.get();
}

static void test_order()
{
    std::vector<int> all;
    for (int b = 0; b < 24; b++)
        for (int t = 0; t < 24; t++) all.push_back(b * 100 + t);
    std::vector<int> backwards(all.rbegin(), all.rend());
    DG_CHECK(order_of(sim::FORWARD, 1, 1) == all);
    DG_CHECK(order_of(sim::REVERSE, 1, 1) == backwards);
    std::vector<int> one = order_of(sim::RANDOM, 1, 1), same = order_of(sim::RANDOM, 1, 1),
                     other = order_of(sim::RANDOM, 2, 1);
    DG_CHECK(one == same && one != other && one != all);
    int first = one[0] / 100; /* blocks run in random order, and so do the threads of a block */
    DG_CHECK(!std::is_sorted(one.begin(), one.begin() + 24) && one[23] / 100 == first);
    for (std::vector<int> v : {one, other, order_of(sim::FORWARD, 1, 4)}) {
        std::sort(v.begin(), v.end());
        DG_CHECK(v == all);
    }
}

/* A CUDA thread runs until it must wait. Then the other threads run. Every warp counts once before any warp counts
 * twice. */
static __global__ void skew_kernel(int *seen, int *progress)
{
    int warp = threadIdx.x / 32;
    if (threadIdx.x % 32 == 0) { seen[warp] = atomicAdd(progress, 1); }
    __syncthreads();
    if (threadIdx.x % 32 == 0) seen[4 + warp] = atomicAdd(progress, 1);
}
static __global__ void hand_over(int *flag, int *out)
{
    if (blockIdx.x == 0) atomicExch(flag, 1);
    if (blockIdx.x == 1)
        while (!atomicAdd(flag, 0)) __nanosleep(20);
    out[blockIdx.x] = 1;
}

static void test_waiting()
{
    dev_buffer<int> seen(8), progress(std::vector<int>{0}), flag(std::vector<int>{0}), out(2);
    KLAUNCH(skew_kernel, 1, 128, 0, 0, seen.p, progress.p);
    DG_CHECK(dev_ok("skew"));
    std::vector<int> s = seen.get();
    for (int w = 0; w < 4; w++) {
        if (sim::opt.order == sim::FORWARD) DG_CHECK(s[w] == w && s[4 + w] == 4 + w);
        if (sim::opt.order == sim::REVERSE) DG_CHECK(s[w] == 3 - w && s[4 + w] == 7 - w);
        DG_CHECK(s[w] < 4 && s[4 + w] >= 4);
    }
    KLAUNCH_COOP(hand_over, 2, 1, 0, 0, flag.p, out.p);
    DG_CHECK(dev_ok("hand over"));
    DG_CHECK(out.get() == (std::vector<int>{1, 1}));
}

/* ---- warps ---- */

template <class T> static __global__ void shuffle_kernel(T *out, int width, int by)
{
    int lane = threadIdx.x % 32, all = blockDim.x;
    T v = (T)(lane * 3 + 1);
    out[threadIdx.x] = __shfl_sync(0xffffffffu, v, by, width);
    out[all + threadIdx.x] = __shfl_xor_sync(0xffffffffu, v, by, width);
    out[2 * all + threadIdx.x] = __shfl_down_sync(0xffffffffu, v, by, width);
}
static __global__ void vote_kernel(unsigned *out)
{
    int lane = threadIdx.x;
    out[lane] = __ballot_sync(0xffffffffu, lane % 3 == 0);
    unsigned mine = lane < 12 ? 0x00000fffu : 0xfffff000u;
    float v = (float)lane;
    if (lane < 12)
        for (int i = 0; i < 3; i++) v += __shfl_sync(mine, v, 11);
    else v = __shfl_sync(mine, v, 5); /* lane 5 belongs to the other part of the warp */
    out[32 + lane] = __float_as_uint(v);
    __syncwarp();
}

template <class T> static void test_shuffle()
{
    for (int width = 1; width <= 32; width *= 2)
        for (int by = 0; by < 32; by += 1 + by / 4) {
            dev_buffer<T> out(3 * 64);
            KLAUNCH((shuffle_kernel<T>), 1, 64, 0, 0, out.p, width, by);
            if (!dev_ok("shuffle")) return;
            std::vector<T> got = out.get();
            for (int i = 0; i < 64; i++) { /* as in the CUDA programming guide, "Warp shuffle functions" */
                int lane = i % 32, start = lane / width * width, end = start + width;
                int from[3] = {start + by % width, lane ^ by, lane + by};
                if (from[1] >= end) from[1] = lane;
                if (from[2] >= end) from[2] = lane;
                for (int k = 0; k < 3; k++)
                    DG_CHECKF(got[k * 64 + i] == (T)(from[k] * 3 + 1), "form %d width %d by %d lane %d", k, width, by,
                              lane);
            }
        }
}

static void test_votes()
{
    dev_buffer<unsigned> out(64);
    KLAUNCH(vote_kernel, 1, 32, 0, 0, out.p);
    if (!dev_ok("vote")) return;
    std::vector<unsigned> got = out.get();
    for (int lane = 0; lane < 32; lane++) {
        DG_CHECK(got[lane] == 0x49249249u);
        float v;
        memcpy(&v, &got[32 + lane], 4);
        if (lane < 12) DG_NEAR(v, lane + 11 + 22 + 44, 0);
        else DG_CHECK(isnan(v));
    }
}

/* ---- memory ---- */

static __global__ void garbage(float *out, int *count)
{
    SHARED(float, s, [40]);
    SHARED(double, d, [3]);
    DYN_SHARED(float, x);
    out[blockIdx.x * 40 + threadIdx.x] = s[threadIdx.x] + x[threadIdx.x] + (float)d[1];
    if (threadIdx.x < 3 && isnan(d[threadIdx.x])) atomicAdd(count, 1);
    __syncthreads();
    s[threadIdx.x] = x[threadIdx.x] = 0; /* values that must be invisible to the next block */
}
static __global__ void last_block(float *sum, float *part, int *done)
{
    SHARED(int, last, );
    if (threadIdx.x == 0) {
        part[blockIdx.x] = (float)(blockIdx.x + 1);
        __threadfence();
        last = atomicAdd(done, 1) == (int)gridDim.x - 1;
    }
    __syncthreads();
    if (!last || threadIdx.x) return;
    float s = 0;
    for (unsigned i = 0; i < gridDim.x; i++) s += part[i];
    *sum = s;
}
static __global__ void atomics(unsigned *u, unsigned long long *l)
{
    int n = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(u, 1u);
    atomicAdd(l, (unsigned long long)n << 33);
}
static __global__ void late_copy(float *out, const float *x, int look_early)
{
    SHARED(float, s, [4]);
    cp_async16(s, x, true);
    cp_async_commit();
    if (look_early) out[0] = s[0];
    cp_async_wait<0>();
    out[1] = s[0];
}

static void test_memory()
{
    dev_buffer<float> out(std::vector<float>(200, 0));
    dev_buffer<int> count(std::vector<int>{0});
    KLAUNCH(garbage, 5, 40, 160, 0, out.p, count.p);
    DG_CHECK(dev_ok("garbage"));
    for (float f : out.get()) DG_CHECK(isnan(f));
    DG_CHECK(count.get()[0] == 15);
    for (float f : dev_buffer<float>(7).get()) DG_CHECK(isnan(f));

    dev_buffer<float> sum(1), part(20);
    dev_buffer<int> done(std::vector<int>{0});
    KLAUNCH(last_block, 20, 64, 0, 0, sum.p, part.p, done.p);
    DG_CHECK(dev_ok("last block"));
    DG_NEAR(sum.get()[0], 210, 0);

    dev_buffer<unsigned> u(std::vector<unsigned>{0});
    dev_buffer<unsigned long long> l(std::vector<unsigned long long>{0});
    KLAUNCH(atomics, 4, 50, 0, 0, u.p, l.p);
    DG_CHECK(dev_ok("atomics"));
    DG_CHECK(u.get()[0] == 200 && l.get()[0] == 19900ull << 33);

    dev_buffer<float> x(std::vector<float>{1, 2, 3, 4}), y(2);
    KLAUNCH(late_copy, 1, 1, 0, 0, y.p, x.p, 1);
    DG_CHECK(dev_ok("cp.async"));
    DG_CHECK(sim::opt.lazy ? isnan(y.get()[0]) : y.get()[0] == 1);
    DG_CHECK(y.get()[1] == 1);
}

/* ---- bank conflicts of ldmatrix: a row pitch of 64 bytes causes conflicts, a pitch of 80 bytes does not ---- */

template <int row_bytes> static __global__ void rows_kernel(uint32_t *out)
{
    SHARED(unsigned char, s, [32 * row_bytes]);
    for (int i = 0; i < row_bytes; i++) s[threadIdx.x * row_bytes + i] = (unsigned char)threadIdx.x;
    __syncwarp();
    uint32_t r[4];
    ldsm_x4(r, s + threadIdx.x * row_bytes);
    out[threadIdx.x] = r[0];
}

static void test_conflicts()
{
    dev_buffer<uint32_t> out(32);
    KLAUNCH((rows_kernel<64>), 1, 32, 0, 0, out.p);
    DG_CHECK(cudaDeviceSynchronize() == cudaSuccess);
    DG_CHECK(sim::ldmatrix_counts().reads == 4 && sim::ldmatrix_counts().conflicts == 4 * 3);
    sim::clear();
    KLAUNCH((rows_kernel<80>), 1, 32, 0, 0, out.p);
    DG_CHECK(cudaDeviceSynchronize() == cudaSuccess);
    DG_CHECK(sim::ldmatrix_counts().reads == 4 && sim::ldmatrix_counts().conflicts == 0);
    sim::clear();
}

DG_TESTS(test_order, test_waiting, test_shuffle<float>, test_shuffle<double>, test_votes, test_memory, test_conflicts)
