/* Tests launches that may start before the previous launch has ended, in a stream and in a captured graph. Results
 * must equal those of ordinary launches. */
#include "tests/all_ops.h"
#include "tests/devtest.h"

/* Computes y = x / 2 + w. The kernel starts to copy w to shared memory before it waits for the previous launch. With
 * COPIES_EARLY, cp.async completes before this wait, and with COPIES_LATE after it. */
enum way { LOADS, COPIES_LATE, COPIES_EARLY };
template <int WAY> static __global__ void halve_and_add(float *y, const float *x, const float *w, int n)
{
    SHARED(float, tile, [64]);
    DEV_CHECK(blockDim.x == 64);
    const int t = threadIdx.x, first = blockIdx.x * 64, i = first + t;
    if (WAY == LOADS) tile[t] = i < n ? grid_early_load(&w[i]) : 0;
    if (WAY != LOADS && t < 16)
        cp_async16_early(&tile[4 * t], first + 4 * t < n ? &w[first + 4 * t] : w, first + 4 * t < n);
    if (WAY != LOADS) cp_async_commit();
    if (WAY == COPIES_EARLY) cp_async_wait<0>();
    __syncthreads();
    grid_dependency_wait();
    grid_dependency_wait(); /* a second wait for the previous launch has no effect */
    grid_dependents_launch();
    if (WAY == COPIES_LATE) cp_async_wait<0>();
    __syncthreads();
    if (i < n) y[i] = 0.5f * x[i] + tile[t];
}

static __global__ void unevenly(int *count)
{
    SHARED(int, sum, );
    if (threadIdx.x == 0) sum = 0;
    if (threadIdx.x % 3 == 0) grid_dependency_wait();
    __syncthreads();
    if (threadIdx.x % 3) grid_dependency_wait();
    atomicAdd(&sum, 1);
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(count, sum);
}

/* Accesses weights as a training step does. One launch writes them, the next launch does not access them, and the
 * third launch reads them before its wait. */
static __global__ void raise_weights(float *w, int n)
{
    const int i = blockIdx.x * 64 + threadIdx.x;
    grid_dependency_wait();
    grid_dependents_launch();
    if (i < n) w[i] += 1;
}
static __global__ void leave_weights(float *other, int n)
{
    const int i = blockIdx.x * 64 + threadIdx.x;
    grid_dependency_wait();
    grid_dependents_launch();
    if (i < n) other[i] += 2;
}
static __global__ void add_weights(float *sum, const float *w, const float *other, int n)
{
    const int i = blockIdx.x * 64 + threadIdx.x;
    const float early = i < n ? grid_early_load(&w[i]) : 0;
    grid_dependency_wait();
    grid_dependents_launch();
    if (i < n) sum[i] += early + other[i];
}

#ifdef __CUDACC__
static const int LINKS = 100, BLOCKS = 2000;
#else
static const int LINKS = 4, BLOCKS = 10;
#endif

template <int WAY> static void chain(const char *what, bool captured)
{
    const int n = 64 * BLOCKS - 8;
    const std::vector<float> x0 = dev_random(n, 1), w0 = dev_random(n, 2);
    dev_buffer<float> w(w0), a(x0), b(n);
    cudaStream_t stream = nullptr;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    DG_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
    if (captured) DG_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
    for (int i = 0; i < LINKS; i++) {
        float *to = i % 2 ? a.p : b.p;
        const float *from = i % 2 ? b.p : a.p;
        if (i % 7 == 5) /* an ordinary launch, which cannot start early */
            KLAUNCH((halve_and_add<WAY>), BLOCKS, 64, 0, stream, to, from, w.p, n);
        else KLAUNCH_AFTER((halve_and_add<WAY>), BLOCKS, 64, 0, stream, to, from, w.p, n);
    }
    if (captured) {
        DG_CHECK(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
        DG_CHECK(cudaGraphInstantiateWithFlags(&exec, graph, 0) == cudaSuccess &&
                 cudaGraphLaunch(exec, stream) == cudaSuccess);
    }
    DG_CHECK(dev_ok(what));
    const std::vector<float> got = a.get();
    dev_bits(got.data(), got.size() * sizeof got[0]);
    int wrong = 0;
    for (int i = 0; i < n; i++) {
        float want = x0[i];
        for (int k = 0; k < LINKS; k++) want = 0.5f * want + w0[i];
        wrong += got[i] != want;
    }
    DG_CHECKF(!wrong, "%s%s: %d of %d values are wrong", what, captured ? ", captured" : "", wrong, n);
    if (exec) DG_CHECK(cudaGraphExecDestroy(exec) == cudaSuccess && cudaGraphDestroy(graph) == cudaSuccess);
    DG_CHECK(cudaStreamDestroy(stream) == cudaSuccess);
}

static void weights_change()
{
    const int n = 64 * BLOCKS;
    const std::vector<float> zeros((size_t)n);
    dev_buffer<float> w(zeros), other(zeros), sum(zeros);
    for (int i = 0; i < LINKS; i++) {
        KLAUNCH_AFTER(raise_weights, BLOCKS, 64, 0, 0, w.p, n);
        KLAUNCH_AFTER(leave_weights, BLOCKS, 64, 0, 0, other.p, n);
        KLAUNCH_AFTER(add_weights, BLOCKS, 64, 0, 0, sum.p, w.p, other.p, n);
    }
    DG_CHECK(dev_ok("weights that change"));
    int wrong = 0;
    for (float f : sum.get()) wrong += f != 3.0f * LINKS * (LINKS + 1) / 2;
    DG_CHECKF(!wrong, "weights that change: %d of %d sums are wrong", wrong, n);
}

int main()
{
    weights_change();
    for (int captured = 0; captured < 2; captured++) {
        chain<LOADS>("loads", captured);
        chain<COPIES_LATE>("copies awaited late", captured);
        chain<COPIES_EARLY>("copies awaited early", captured);
    }
    dev_programmatic = false;
    chain<COPIES_LATE>("switched off", true);
    dev_programmatic = true;
    dev_buffer<int> count(std::vector<int>{0});
    for (int i = 0; i < 3; i++) KLAUNCH_AFTER(unevenly, 12, 96, 0, 0, count.p);
    DG_CHECK(dev_ok("unevenly"));
    DG_CHECK(count.get()[0] == 3 * 12 * 96);
    return dg_test_report();
}
