/* Planted bugs in blocks that wait for other blocks, in overlapping launches, and in a host program. */
#pragma once

#include "tests/sim/bugs.h"

/* ---- blocks that wait for other blocks: two blocks copy *x, then one block changes *x ---- */

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

/* ---- a host program: pinned buffers that are filled, copied and summed on two streams ---- */

static __global__ void accumulate(float *sum, const float *x, int n)
{
    for (int i = 0; i < n; i++) *sum += x[i];
}

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
        if (b >= 2 && B != EARLY_REFILL) cudaEventSynchronize(arrived[k]);
        for (int i = 0; i < n; i++) pinned[k][i] = (float)(b * n + i);
        for (int i = 0; i < n; i++) want += (float)(b * n + i);
        if (b >= 2) cudaStreamWaitEvent(copy, used[k]);
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
    cudaStreamDestroy(compute);
}

/* ---- Three consecutive kernels that may start early: each multiplies by w ---- */

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

/* ---- Clusters: the first block of each cluster sums values in the shared memory of all blocks ---- */

template <int B> static __global__ void cluster_adds(float *y, const float *x)
{
    SHARED(float, mine, [4 * 32]);
    const int i = (int)threadIdx.x, clusters = (int)gridDim.x, cluster = (int)blockIdx.x;
    grid_dependency_wait();
    for (int e = 0; e < 4; e++) mine[4 * i + e] = x[(((int)blockIdx.z * clusters + cluster) * 32 + i) * 4 + e];
    if (B != NOT_ARRIVED) cluster_sync();
    if (blockIdx.z == 0) {
        float sum[4] = {};
        for (int rank = 0; rank < (int)gridDim.z; rank++) {
            const float4 v = cluster_memory(mine, rank).load(4 * (31 - i));
            sum[0] += v.x, sum[1] += v.y, sum[2] += v.z, sum[3] += v.w;
        }
        for (int e = 0; e < 4; e++) y[(cluster * 32 + i) * 4 + e] = sum[e];
    }
    if (B != GONE_EARLY) cluster_sync();
}
template <int B> static void run_clusters()
{
    const int clusters = 5, size = 3, each = 4 * 32, n = clusters * each;
    dev_buffer<float> x(dev_random(size * n, 1)), y(n);
    if (B == NO_CLUSTER) KLAUNCH_AFTER(cluster_adds<B>, dim3(clusters, 1, size), 32, 0, 0, y.p, x.p);
    else KLAUNCH_CLUSTER(cluster_adds<B>, dim3(clusters, 1, size), 32, 0, 0, y.p, x.p);
    launched();
    const std::vector<float> in = x.get();
    std::vector<float> want(n);
    for (int i = 0; i < n; i++)
        for (int rank = 0; rank < size; rank++)
            want[i] += in[rank * n + i / each * each + (31 - i % each / 4) * 4 + i % 4];
    compare("y", y.get(), want);
}
