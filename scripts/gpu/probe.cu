/* Measures properties of a GPU that the design of its kernels depends on: the time between dependent launches of a
 * graph, a barrier of all blocks, L2, and on Hopper the clusters that fit, distributed shared memory, wgmma without
 * swizzle and bulk copies. Built and run by scripts/gpu-speed.
 *
 *     nvcc -std=c++17 -O3 -gencode arch=compute_90a,code=sm_90a -o probe scripts/gpu/probe.cu && ./probe
 *
 * Prints a line "name: value unit" per measurement, the best of five. Exit code 1: a CUDA call failed. */
#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>

#define CHECK(call)                                                        \
    do {                                                                   \
        const cudaError_t error_ = (call);                                 \
        if (error_ != cudaSuccess) {                                       \
            printf("failed: %s: %s\n", #call, cudaGetErrorString(error_)); \
            return false;                                                  \
        }                                                                  \
    } while (0)

#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define HOPPER 1
#else
#define HOPPER 0
#endif

static int units;
static float *sink;
extern __shared__ __align__(1024) unsigned char room[];

[[maybe_unused]] static __device__ __forceinline__ uint32_t shared_address(const void *p)
{
    return (uint32_t)__cvta_generic_to_shared(p);
}

/* Returns the shortest time in us of five calls of `enqueue`, after one that is not timed. */
template <class F> static double best_us(cudaStream_t stream, F enqueue)
{
    cudaEvent_t from, to;
    if (cudaEventCreate(&from) != cudaSuccess || cudaEventCreate(&to) != cudaSuccess) return -1;
    float best = 1e9f;
    enqueue();
    for (int i = 0; i < 5; i++) {
        float ms = 0;
        (void)cudaEventRecord(from, stream);
        enqueue();
        (void)cudaEventRecord(to, stream);
        (void)cudaEventSynchronize(to);
        (void)cudaEventElapsedTime(&ms, from, to);
        if (ms < best) best = ms;
    }
    (void)cudaEventDestroy(from);
    (void)cudaEventDestroy(to);
    return 1e3 * (double)best;
}

static __global__ void dependent_kernel(float *p, int programmatic)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    if (programmatic) {
        asm volatile("griddepcontrol.launch_dependents;");
        asm volatile("griddepcontrol.wait;" ::: "memory");
    }
#endif
    p[blockIdx.x * blockDim.x + threadIdx.x] += programmatic ? 1 : 2;
}

static bool measure_launches(cudaStream_t stream, float *data, bool programmatic)
{
    const int launches = 1000;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3((unsigned)units), config.blockDim = dim3(256), config.stream = stream;
    config.attrs = &attribute, config.numAttrs = programmatic;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < launches; i++) CHECK(cudaLaunchKernelEx(&config, dependent_kernel, data, (int)programmatic));
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    const double us = best_us(stream, [&] { (void)cudaGraphLaunch(exec, stream); });
    CHECK(cudaGetLastError());
    printf("launch in a graph, %s: %.3f us\n", programmatic ? "programmatic" : "ordinary", us / launches);
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    return true;
}

/* Each block adds partial sums of 64 columns; then all blocks wait for all, and read all sums. */
static __global__ void __launch_bounds__(384, 1) barrier_kernel(unsigned *counter, float2 *parts, float *out, int turns)
{
    float sum = 0;
    for (int t = 0; t < turns; t++) {
        if (threadIdx.x < 64) parts[blockIdx.x * 64 + threadIdx.x] = make_float2(1, 1);
        __syncthreads();
        if (threadIdx.x == 0) {
            __threadfence();
            atomicAdd(counter, 1u);
            while (*(volatile unsigned *)counter < (unsigned)(t + 1) * gridDim.x) {}
            __threadfence();
        }
        __syncthreads();
        for (int i = (int)threadIdx.x; i < (int)gridDim.x * 32; i += 384) {
            const float4 v = __ldcg((const float4 *)parts + i);
            sum += v.x + v.y + v.z + v.w;
        }
    }
    if (sum == 12345.f) *out = sum;
}

static bool measure_barrier(cudaStream_t stream)
{
    float2 *parts;
    unsigned *counter;
    int turns = 1000;
    CHECK(cudaMalloc(&parts, sizeof *parts * 64 * (size_t)units));
    CHECK(cudaMalloc(&counter, sizeof *counter));
    void *arguments[] = {&counter, &parts, &sink, &turns};
    const double us = best_us(stream, [&] {
        (void)cudaMemsetAsync(counter, 0, sizeof *counter, stream);
        (void)cudaLaunchCooperativeKernel((const void *)barrier_kernel, dim3((unsigned)units), dim3(384), arguments, 0,
                                          stream);
    });
    CHECK(cudaGetLastError());
    printf("barrier of all blocks with sums of 64 columns: %.3f us\n", us / turns);
    return true;
}

/* Each block reads all of the data from another start. */
static __global__ void __launch_bounds__(512) read_kernel(const float4 *from, int n, float *out)
{
    const int start = n / (int)gridDim.x * (int)blockIdx.x;
    float sum = 0;
#pragma unroll 8
    for (int i = (int)threadIdx.x; i < n; i += 512) {
        const int at = start + i;
        const float4 v = __ldcg(from + (at < n ? at : at - n));
        sum += v.x + v.y + v.z + v.w;
    }
    if (sum == 12345.f) *out = sum;
}

static bool measure_l2(cudaStream_t stream, const float *data)
{
    for (int mb = 4; mb <= 32; mb *= 2) {
        const int n = mb << 16;
        const double us = best_us(stream, [&] {
            read_kernel<<<(unsigned)units * 2, 512, 0, stream>>>((const float4 *)data, n, sink);
        });
        CHECK(cudaGetLastError());
        printf("L2, %d MB read by every block: %.2f TB/s\n", mb, 16e-6 * n * units * 2 / us);
    }
    return true;
}

/* Sums of distributed shared memory: each block reads 64 KB of each other block of its cluster. */
static __global__ void __launch_bounds__(256, 1) cluster_kernel(float *out, int turns, int own_first, long long *clocks)
{
#if HOPPER
    namespace groups = cooperative_groups;
    float4 *const mine = (float4 *)room;
    for (int i = (int)threadIdx.x; i < 4096; i += 256) mine[i] = make_float4(0, 0, 0, 0);
    groups::cluster_group cluster = groups::this_cluster();
    const int n = (int)cluster.num_blocks(), rank = (int)cluster.block_rank();
    cluster.sync();
    const long long begin = clock64();
    float sum = 0;
    for (int t = 0; t < turns; t++)
        for (int i = 0; i < n - 1; i++) {
            const int part = own_first ? (rank + 1 + i) % n : i + (i >= rank);
            asm volatile("" ::: "memory");
            const float4 *from = (const float4 *)cluster.map_shared_rank((void *)mine, part);
#pragma unroll
            for (int k = 0; k < 16; k++) {
                const float4 v = from[k * 256 + (int)threadIdx.x];
                sum += v.x + v.y + v.z + v.w;
            }
        }
    const long long took = clock64() - begin;
    cluster.sync();
    if (sum == 12345.f) *out = sum;
    if (threadIdx.x == 0 && blockIdx.x == 0) *clocks = took;
#endif
}

static bool measure_clusters(long long *clocks)
{
    const int bytes = 140 << 10, turns = 50;
    CHECK(cudaFuncSetAttribute(cluster_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    for (int n = 2; n <= 8; n *= 2) {
        cudaLaunchAttribute attribute = {};
        attribute.id = cudaLaunchAttributeClusterDimension;
        attribute.val.clusterDim.x = (unsigned)n, attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
        cudaLaunchConfig_t config = {};
        config.gridDim = dim3((unsigned)n * 14), config.blockDim = dim3(256), config.dynamicSmemBytes = bytes;
        config.attrs = &attribute, config.numAttrs = 1;
        int fit = 0;
        CHECK(cudaOccupancyMaxActiveClusters(&fit, cluster_kernel, &config));
        printf("clusters of %d blocks with 140 KB that run at once: %d of %d\n", n, fit, units / n);
        for (int own_first = 0; own_first < 2; own_first++) {
            CHECK(cudaLaunchKernelEx(&config, cluster_kernel, sink, turns, own_first, clocks));
            CHECK(cudaDeviceSynchronize());
            printf("cluster of %d, %s: %.1f bytes per clock and block\n", n,
                   own_first ? "each block reads its successor first" : "all blocks read block 0 first",
                   turns * (n - 1) * 65536. / (double)*clocks);
        }
    }
    return true;
}

/* wgmma of 64 x 32 results, from operands that begin at any 16 bytes, without swizzle. Two warpgroups per block. */
static __global__ void __launch_bounds__(256, 1) wgmma_kernel(float *out, int turns, int shift, int line)
{
#if HOPPER
    const unsigned one = 0x3f803f80; /* 1 and 1 in bf16 */
    for (int i = (int)threadIdx.x; i < 200 * 64; i += 256) ((uint4 *)room)[i] = make_uint4(one, one, one, one);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    const uint32_t start = shared_address(room) + __shfl_sync(~0u, threadIdx.x / 128, 0) * 65536;
    const uint64_t a = (uint64_t)line << 32 | (uint64_t)84 << 16 | ((start >> 4) + (uint32_t)shift);
    const uint64_t b = (uint64_t)8 << 32 | (uint64_t)36 << 16 | (start + 32768) >> 4;
    float d[16] = {};
    for (int t = 0; t < turns; t++) {
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
        for (int k = 0; k < 8; k++)
            asm volatile("{.reg .pred p; setp.ne.u32 p, 1, 0;\n"
                         "wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 "
                         "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15}, %16, %17, p, 1, 1, 0, 0;}"
                         : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
                           "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
                           "+f"(d[14]), "+f"(d[15])
                         : "l"(a + (uint64_t)(k % 4 * 8)), "l"(b)
                         : "memory");
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    }
    float sum = 0;
#pragma unroll
    for (int i = 0; i < 16; i++) sum += d[i];
    if (sum == 12345.f) *out = sum;
#endif
}

static bool measure_wgmma(cudaStream_t stream)
{
    const int turns = 4000, bytes = 200 << 10;
    CHECK(cudaFuncSetAttribute(wgmma_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    auto measure = [&](int shift, int line) {
        const double us = best_us(stream, [&] {
            wgmma_kernel<<<(unsigned)units, 256, bytes, stream>>>(sink, turns, shift, line);
        });
        printf("wgmma 64x32 without swizzle, rows of %d bytes, start %d: %.0f TFLOP/s\n", 16 * line, 16 * shift,
               2e-6 * units * 2 * turns * 8 * 64 * 32 * 16 / us);
    };
    measure(0, 8);
    for (int shift = 0; shift < 8; shift++) measure(shift, 9);
    CHECK(cudaGetLastError());
    return true;
}

/* Bulk copies from L2 to shared memory, `deep` of them at once. */
static __global__ void __launch_bounds__(32, 1)
    bulk_kernel(const unsigned char *from, int bytes, int deep, int turns, long long *clocks)
{
#if HOPPER
    __shared__ __align__(8) uint64_t full[8];
    if (threadIdx.x) return;
    for (int i = 0; i < deep; i++)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&full[i])));
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    auto request = [&](int t) {
        const uint32_t barrier = shared_address(&full[t % deep]);
        const unsigned char *source = from + ((size_t)blockIdx.x * 37 + (size_t)t) % 400 * (size_t)bytes;
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                         shared_address(room) + (uint32_t)(t % deep * bytes)),
                     "l"(source), "r"(bytes), "r"(barrier)
                     : "memory");
    };
    const long long begin = clock64();
    for (int t = 0; t < deep && t < turns; t++) request(t);
    for (int t = 0; t < turns; t++) {
        uint32_t done = 0;
        while (!done)
            asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                         "selp.u32 %0, 1, 0, p;}"
                         : "=r"(done)
                         : "r"(shared_address(&full[t % deep])), "r"((uint32_t)(t / deep & 1))
                         : "memory");
        if (t + deep < turns) request(t + deep);
    }
    if (blockIdx.x == 0) *clocks = clock64() - begin;
#endif
}

static bool measure_bulk(const float *data, long long *clocks)
{
    const int bytes = 9216, turns = 400;
    CHECK(cudaFuncSetAttribute(bulk_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 8 * bytes));
    for (int deep = 1; deep <= 8; deep *= 2) {
        for (int i = 0; i < 2; i++) {
            bulk_kernel<<<(unsigned)units, 32, 8 * bytes>>>((const unsigned char *)data, bytes, deep, turns, clocks);
            CHECK(cudaDeviceSynchronize());
        }
        printf("bulk copies of 9 KB, %d at once: %.0f clocks each, %.1f bytes per clock and multiprocessor\n", deep,
               (double)*clocks / turns, (double)bytes * turns / (double)*clocks);
    }
    return true;
}

static bool measure_all()
{
    cudaDeviceProp p;
    cudaStream_t stream;
    float *data;
    long long *clocks;
    const size_t bytes = 32 << 20;
    CHECK(cudaGetDeviceProperties(&p, 0));
    units = p.multiProcessorCount;
    printf("GPU: %s, sm_%d%d, %d multiprocessors, %d MB of L2\n", p.name, p.major, p.minor, units, p.l2CacheSize >> 20);
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMalloc(&sink, sizeof *sink));
    CHECK(cudaMalloc(&data, bytes));
    CHECK(cudaMemset(data, 0, bytes));
    CHECK(cudaMallocManaged(&clocks, sizeof *clocks));
    bool good = measure_launches(stream, data, false);
    if (p.major >= 9) good = measure_launches(stream, data, true) && good;
    good = measure_barrier(stream) && good;
    good = measure_l2(stream, data) && good;
    if (p.major != 9) return good;
    good = measure_clusters(clocks) && good;
    good = measure_wgmma(stream) && good;
    return measure_bulk(data, clocks) && good;
}

int main() { return measure_all() ? 0 : 1; }
