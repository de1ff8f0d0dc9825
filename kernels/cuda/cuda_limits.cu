/* Measures a CUDA device's limits (multiply-adds, tensor cores, memory, cache, a launch) and the constants of the cost
 * model. Template parameters: real; M, the arithmetic.
 * Block: 256 threads. Grid: 8 blocks per multiprocessor, or 1 for measurements with few warps.
 * Shared memory: 8 KB. Bound by: the hardware unit in each kernel's name. */
#include "kernels/cuda/cuda_clock.cuh"
#include "kernels/fused/fuse.cuh"

#include <string.h>

static constexpr int THREADS = 256, BLOCKS = 8, CHAINS = 8;

template <class real> static __global__ void __launch_bounds__(THREADS) fma_kernel(real *out, int turns)
{
    real a[CHAINS];
#pragma unroll
    for (int i = 0; i < CHAINS; i++) a[i] = (real)((int)threadIdx.x + i);
    for (int t = 0; t < turns; t++)
#pragma unroll
        for (int k = 0; k < 4; k++)
#pragma unroll
            for (int i = 0; i < CHAINS; i++) a[i] = a[i] * (real)0.75 + (real)0.25;
    real sum = 0;
#pragma unroll
    for (int i = 0; i < CHAINS; i++) sum += a[i];
    if (sum < 0) *out = sum;
}

/* Operands are near 1, because multiplying zeros uses less power. */
template <dg_math M> static __global__ void __launch_bounds__(THREADS) mma_kernel(float *out, int turns)
{
    float c[CHAINS][4] = {};
    const uint32_t one = 0x3f803f80u + threadIdx.x % 32 * 0x00030005u;
    const uint32_t a[4] = {one, one ^ 0x00410014u, one ^ 0x00160052u, one ^ 0x00250043u};
    const uint32_t b[2] = {one ^ 0x00330061u, one};
    for (int t = 0; t < turns; t++)
#pragma unroll
        for (int i = 0; i < CHAINS; i++) M == DG_MATH_BF16 ? mma_bf16(c[i], a, b) : mma_fp16(c[i], a, b);
    float sum = 0;
#pragma unroll
    for (int i = 0; i < CHAINS; i++) sum += c[i][0] + c[i][3];
    if (sum < 0) *out = sum;
}

static __global__ void triad_kernel(float4 *out, const float4 *left, const float4 *right, int64_t n)
{
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < n; i += (int64_t)gridDim.x * THREADS) {
        const float4 l = left[i], r = right[i];
        out[i] = make_float4(l.x + 0.5f * r.x, l.y + 0.5f * r.y, l.z + 0.5f * r.z, l.w + 0.5f * r.w);
    }
}

/* In each turn, a block reads a different part of the array, so that L1 has no hits. */
static __global__ void read_kernel(float *out, const float4 *in, int64_t n, int turns)
{
    float sum = 0;
    for (int t = 0; t < turns; t++) {
        const int64_t block = (blockIdx.x + (int64_t)t * 37) % gridDim.x;
        for (int64_t i = block * THREADS + threadIdx.x; i < n; i += (int64_t)gridDim.x * THREADS) {
            const float4 v = in[i];
            sum += v.x + v.y + v.z + v.w;
        }
    }
    if (sum != 0) *out = sum;
}

static __global__ void empty_kernel() {}

static __global__ void __launch_bounds__(128) after_kernel()
{
    grid_dependency_wait();
    grid_dependents_launch();
}

static constexpr int PART = 2 * 64;
static __global__ void __launch_bounds__(PART) last_kernel(float *parts, float *out, unsigned *counter)
{
    grid_dependency_wait();
    grid_dependents_launch();
    const int i = (int)threadIdx.x, blocks = (int)gridDim.x;
    parts[(int)blockIdx.x * PART + i] = 1;
    if (!dg_comes_last(counter, (unsigned)blocks)) return;
    float sum = 0;
#pragma unroll 8
    for (int b = 0; b < blocks; b++) sum += parts[b * PART + i];
    out[i] = sum;
}

static __global__ void __launch_bounds__(THREADS) shared_kernel(float *out, int turns)
{
    SHARED(float4, held, [2 * THREADS]);
    const int i = (int)threadIdx.x;
    held[i] = held[THREADS + i] = make_float4(0, 0, 0, 0);
    __syncthreads();
    float sum = 0;
    for (int t = 0; t < turns; t++)
#pragma unroll
        for (int k = 0; k < CHAINS; k++) {
            const float4 v = held[(i + 32 * (t + k)) % (2 * THREADS)];
            sum += v.x + v.y + v.z + v.w;
        }
    if (sum != 0) *out = sum;
}

typedef struct {
    cudaStream_t stream;
    cudaEvent_t from, to;
    cudaDeviceProp device;
    dg_type real;
    float4 *array[3];
    int64_t n;
    const char **what;
} job;

#define TRY(call)                          \
    do {                                   \
        const cudaError_t error_ = (call); \
        if (error_ != cudaSuccess) {       \
            *j->what = #call;              \
            return error_;                 \
        }                                  \
    } while (0)

static cudaError_t launches(job *j)
{
    const dev_fault fault = dev_take_fault();
    if (fault.error != cudaSuccess) *j->what = fault.at.kernel;
    return fault.error;
}

enum kind { FMA, BF16, FP16, TRIAD, READ, CACHE, FEW_CACHE, FEW_MMA, SHARED_READ };
/* The kinds from FEW_CACHE on run one block per multiprocessor. */

/* Launches kernel k. Returns its operations or bytes per turn. */
static double launch(job *j, kind k, int turns)
{
    const dim3 few((unsigned)j->device.multiProcessorCount), all(few.x * BLOCKS), block(THREADS);
    const dim3 grid = k < FEW_CACHE ? all : few;
    const double threads = (double)grid.x * THREADS;
    float *out = (float *)j->array[0];
    const int64_t half = j->device.l2CacheSize / 2 / 16, cached = half < j->n ? half : j->n;
    switch (k) {
    case FMA:
        if (j->real == DG_F64) KLAUNCH(fma_kernel<double>, grid, block, 0, j->stream, (double *)out, turns);
        else KLAUNCH(fma_kernel<float>, grid, block, 0, j->stream, out, turns);
        return threads * CHAINS * 4 * 2;
    case BF16:
    case FP16:
    case FEW_MMA:
        if (k == BF16 || (k == FEW_MMA && j->device.major >= 8))
            KLAUNCH(mma_kernel<DG_MATH_BF16>, grid, block, 0, j->stream, out, turns);
        else KLAUNCH(mma_kernel<DG_MATH_FP16>, grid, block, 0, j->stream, out, turns);
        return threads / 32 * CHAINS * 2 * 16 * 8 * 16;
    case TRIAD:
        for (int t = 0; t < turns; t++)
            KLAUNCH(triad_kernel, grid, block, 0, j->stream, j->array[0], j->array[1], j->array[2], j->n);
        return 3 * 16.0 * (double)j->n;
    case READ:
        KLAUNCH(read_kernel, grid, block, 0, j->stream, out, j->array[1], j->n, turns);
        return 16.0 * (double)j->n;
    case CACHE:
    case FEW_CACHE:
        KLAUNCH(read_kernel, grid, block, 0, j->stream, out, j->array[2], cached, turns);
        return 16.0 * (double)cached;
    case SHARED_READ: break;
    }
    KLAUNCH(shared_kernel, grid, block, 0, j->stream, out, turns);
    return threads * CHAINS * 16;
}

/* Raises *best to the rate of kernel k, in 1e9 operations or bytes per second. The measured run takes at least 0.5 ms,
 * so the launch time is negligible. */
static cudaError_t rate(job *j, kind k, double *best)
{
    float ms = 0;
    for (int turns = 1; turns <= 1 << 20; turns *= 4) {
        TRY(cudaEventRecord(j->from, j->stream));
        const double work = launch(j, k, turns);
        TRY(launches(j));
        TRY(cudaEventRecord(j->to, j->stream));
        TRY(cudaEventSynchronize(j->to));
        TRY(cudaEventElapsedTime(&ms, j->from, j->to));
        if (ms < 0.5f) continue;
        const double reached = work * turns / (double)ms * 1e-6;
        if (reached > *best) *best = reached;
        break;
    }
    return cudaSuccess;
}

enum link { EMPTY, AFTER, LAST };
static void launch_link(job *j, link k)
{
    const dim3 all((unsigned)j->device.multiProcessorCount), block(PART);
    float *const parts = (float *)j->array[0];
    if (k == EMPTY) KLAUNCH(empty_kernel, dim3(1), dim3(32), 0, j->stream);
    if (k == AFTER) KLAUNCH_AFTER(after_kernel, all, block, 0, j->stream);
    if (k == LAST)
        KLAUNCH_AFTER(last_kernel, all, block, 0, j->stream, parts, parts + j->device.multiProcessorCount * PART,
                      (unsigned *)j->array[1]);
}

static cudaError_t chain(job *j, link k, int n, float *ms)
{
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    TRY(cudaStreamBeginCapture(j->stream, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < n; i++) launch_link(j, k);
    const cudaError_t launched = launches(j);
    TRY(cudaStreamEndCapture(j->stream, &graph));
    cudaError_t e = launched == cudaSuccess ? cudaGraphInstantiateWithFlags(&exec, graph, 0) : launched;
    (void)cudaGraphDestroy(graph);
    for (int warm = 0; warm < 2 && e == cudaSuccess; warm++) {
        e = cudaEventRecord(j->from, j->stream);
        if (e == cudaSuccess) e = cudaGraphLaunch(exec, j->stream);
        if (e == cudaSuccess) e = cudaEventRecord(j->to, j->stream);
        if (e == cudaSuccess) e = cudaEventSynchronize(j->to);
    }
    if (e == cudaSuccess) e = cudaEventElapsedTime(ms, j->from, j->to);
    if (exec) (void)cudaGraphExecDestroy(exec);
    *j->what = "a chain of kernels";
    return e;
}

static cudaError_t link_us(job *j, link k, double *us)
{
    float few = 0, many = 0;
    launch_link(j, k);
    TRY(chain(j, k, 10, &few));
    TRY(chain(j, k, 60, &many));
    const double one = (double)(many - few) * 1e3 / 50;
    if (one > 0 && (*us <= 0 || one < *us)) *us = one;
    return cudaSuccess;
}

static cudaError_t costs(job *j, dg_machine *m)
{
    dg_machine_costs *const c = &m->costs;
    const double lanes = m->arch == 75 || m->arch == 80 ? 64 : 128, clocks = m->all / (2 * lanes);
    double last = 0, cache = 0, tensor = 0, shared = 0;
    *c = dg_machine_costs_of(m->arch, clocks / m->units * 1e-3);
    c->after_us = 0;
    TRY(link_us(j, AFTER, &c->after_us));
    TRY(link_us(j, LAST, &last));
    TRY(rate(j, FEW_CACHE, &cache));
    TRY(rate(j, FEW_MMA, &tensor));
    TRY(rate(j, SHARED_READ, &shared));
    c->last_us = last > c->after_us ? last - c->after_us : 0;
    c->l2 = cache / m->cache;
    c->tensor = tensor / (m->bf16 > 0 ? m->bf16 : m->fp16);
    c->l1 = shared / clocks / 128;
    return cudaSuccess;
}

static cudaError_t measure(job *j, dg_machine *m, int rounds)
{
    size_t free_bytes = 0, total = 0;
    TRY(rate(j, FMA, &m->all));
    if (!rounds) return cudaSuccess;
    TRY(cudaMemGetInfo(&free_bytes, &total));
    size_t bytes = 4 * (size_t)j->device.l2CacheSize;
    if (bytes > free_bytes / 8) bytes = free_bytes / 8;
    j->n = (int64_t)(bytes / 16);
    for (int i = 0; i < 3; i++) {
        TRY(cudaMalloc(&j->array[i], (size_t)j->n * 16));
        TRY(cudaMemsetAsync(j->array[i], 0, (size_t)j->n * 16, j->stream));
    }
    m->array_mb = 16e-6 * (double)j->n;
    for (int i = 0; i < rounds; i++) {
        TRY(rate(j, FMA, &m->all));
        if (j->device.major >= 8) TRY(rate(j, BF16, &m->bf16));
        TRY(rate(j, FP16, &m->fp16));
        TRY(rate(j, TRIAD, &m->triad));
        TRY(rate(j, READ, &m->read));
        TRY(rate(j, CACHE, &m->cache));
        TRY(link_us(j, EMPTY, &m->launch_us));
    }
    return m->real == DG_F64 ? cudaSuccess : costs(j, m);
}

cudaError_t dg_cuda_limits(cudaStream_t stream, int device, dg_type real, dg_machine *m, int rounds, const char **what)
{
    job job_ = {}, *j = &job_;
    j->stream = stream;
    j->real = real;
    j->what = what;
    *what = "";
    TRY(cudaGetDeviceProperties(&j->device, device));
    m->gpu = true;
    m->arch = j->device.major * 10 + j->device.minor;
    m->units = j->device.multiProcessorCount;
    m->shared = j->device.sharedMemPerBlockOptin;
    m->cache_mb = j->device.l2CacheSize * 1e-6;
    memcpy(m->name, j->device.name, sizeof m->name - 1);
    m->name[sizeof m->name - 1] = 0;
    TRY(cudaEventCreate(&j->from));
    cudaError_t e = cudaEventCreate(&j->to);
    if (e == cudaSuccess) e = measure(j, m, rounds);
    for (int i = 0; i < 3; i++)
        if (j->array[i]) (void)cudaFree(j->array[i]);
    if (j->to) (void)cudaEventDestroy(j->to);
    (void)cudaEventDestroy(j->from);
    return e;
}
