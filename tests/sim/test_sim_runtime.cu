/* The simulated runtime API: memory and its guards, errors and their injection, streams, events, graphs. */
#include <sys/wait.h>
#include <unistd.h>
#include "tests/devtest.h"

static void is(cudaError_t have, cudaError_t want, const char *call, int line)
{
    DG_CHECKF(have == want, "line %d: %s: %s, not %s", line, call, cudaGetErrorName(have), cudaGetErrorName(want));
}
#define IS(call, error) is(call, error, #call, __LINE__)
#define OK(call) is(call, cudaSuccess, #call, __LINE__)
static cudaError_t e;

static __global__ void add_kernel(float *y, const float *x, float by, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] + by;
}
static void add(float *y, const float *x, float by, int n, cudaStream_t s)
{
    KLAUNCH(add_kernel, (unsigned)(n + 31) / 32, 32, 0, s, y, x, by, n);
}

/* ---- memory ---- */

static void test_memory()
{
    size_t free0, free1, total;
    OK(cudaMemGetInfo(&free0, &total));
    DG_CHECK(total == sim::device.memory && sim::live_allocations() == 0);
    float *d = nullptr, *d2 = nullptr, *h = nullptr;
    OK(cudaMalloc(&d, 1000 * sizeof(float)));
    OK(cudaMallocHost(&h, 4096));
    OK(cudaMemGetInfo(&free1, &total));
    DG_CHECK(free0 - free1 == 4000 && (uintptr_t)d % 256 == 0 && (uintptr_t)h % 256 == 0 && isnan(h[1023]));
    IS(cudaMalloc(&d2, free1 + 1), cudaErrorMemoryAllocation);
    DG_CHECK(!d2);
    IS(cudaGetLastError(), cudaErrorMemoryAllocation); /* remembered once, not sticky */
    OK(cudaGetLastError());
    OK(cudaMalloc(&d2, 0));
    DG_CHECK(!d2);
    OK(cudaFree(nullptr));
    std::vector<float> v(1000, 2), w(1000);
    OK(cudaMemcpy(d, v.data(), 4000, cudaMemcpyHostToDevice));
    OK(cudaMemset(d + 10, 0, 40));
    OK(cudaMemcpy(w.data(), d, 4000, cudaMemcpyDefault));
    for (int i = 0; i < 1000; i++) DG_CHECK(w[i] == (i < 10 || i >= 20 ? 2 : 0));
    IS(cudaMemcpy(d, v.data(), 4001, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    IS(cudaMemcpy(d + 1, v.data(), 4000, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    IS(cudaMemcpy(w.data(), v.data(), 40, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    IS(cudaMemcpy(w.data(), v.data(), 40, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
    IS(cudaMemcpy(d, d + 500, 400, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    IS(cudaMemcpy(h + 1023, d, 8, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
    IS(cudaMemset(w.data(), 0, 4), cudaErrorInvalidValue);
    IS(cudaFree(d + 1), cudaErrorInvalidValue);
    IS(cudaFree(h), cudaErrorInvalidValue);
    IS(cudaFreeHost(d), cudaErrorInvalidValue);
    OK(cudaFree(d));
    IS(cudaFree(d), cudaErrorInvalidValue);
    IS(cudaMemcpy(d, v.data(), 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    OK(cudaFreeHost(h));
    DG_CHECK(sim::live_allocations() == 0);
    (void)cudaGetLastError();
}

/* Device memory is out of the host's reach: the program ends, whoever tries. */
static void test_guard()
{
    float *d = nullptr;
    OK(cudaMalloc(&d, 400));
    pid_t child = fork();
    if (child == 0) {
        if (!freopen("/dev/null", "w", stderr)) _exit(0);
        *(volatile float *)d = 1;
        _exit(0);
    }
    int status = 0;
    DG_CHECK(child > 0 && waitpid(child, &status, 0) == child);
    DG_CHECKF(!(WIFEXITED(status) && WEXITSTATUS(status) == 0), "host code wrote to device memory, status %d", status);
    OK(cudaFree(d));
}

/* ---- errors ---- */

static __global__ void broken_kernel() { __trap(); }

/* A small program; returns the first error and releases everything. */
static cudaError_t program(float *result)
{
    float *x = nullptr, *h = nullptr;
    cudaStream_t s = nullptr;
    cudaError_t r = cudaStreamCreate(&s);
    if (!r) r = cudaMalloc(&x, 256);
    if (!r) r = cudaMallocHost(&h, 256);
    if (!r) r = cudaMemsetAsync(x, 0, 256, s);
    if (!r) add(x, x, 3, 64, s), r = dev_take_fault().error;
    if (!r) r = cudaMemcpyAsync(h, x, 256, cudaMemcpyDeviceToHost, s);
    if (!r) r = cudaStreamSynchronize(s);
    if (!r) *result = h[63];
    (void)cudaFree(x);
    (void)cudaFreeHost(h);
    if (s) (void)cudaStreamDestroy(s);
    return r;
}

static void test_errors()
{
    float result = 0;
    long before = sim::calls();
    OK(program(&result));
    long steps = sim::calls() - before;
    DG_CHECK(result == 3 && steps == 10);
    for (long k = 1; k <= steps; k++) { /* each call fails once: the error comes out, and only there */
        sim::fail_call(k, cudaErrorDevicesUnavailable);
        result = 0;
        e = program(&result);
        DG_CHECK(sim::live_allocations() == 0 && sim::live_handles() == 0);
        DG_CHECKF(k <= 7 ? e == cudaErrorDevicesUnavailable && !result : e == cudaSuccess && result == 3,
                  "call %ld: %s", k, cudaGetErrorName(e));
        DG_CHECK(cudaGetLastError() == cudaErrorDevicesUnavailable && cudaGetLastError() == cudaSuccess);
        sim::clear();
    }
    sim::fail_call(4, cudaErrorECCUncorrectable); /* sticky: nothing works from then on */
    IS(program(&result), cudaErrorECCUncorrectable);
    IS(cudaDeviceSynchronize(), cudaErrorECCUncorrectable);
    IS(cudaGetLastError(), cudaErrorECCUncorrectable);
    IS(cudaGetLastError(), cudaErrorECCUncorrectable);
    sim::clear();
    OK(cudaDeviceSynchronize());

    sim::opt.quiet = true;
    KLAUNCH(broken_kernel, 1, 1, 0, 0); /* asynchronous: the launch itself is well */
    OK(dev_take_fault().error);
    IS(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
    float *p = nullptr;
    IS(cudaMalloc(&p, 4), cudaErrorLaunchFailure);
    KLAUNCH(broken_kernel, 1, 1, 0, 0);
    IS(dev_take_fault().error, cudaErrorLaunchFailure);
    sim::clear();
    sim::opt.quiet = false;
    OK(cudaDeviceSynchronize());
    DG_CHECK(!strcmp(cudaGetErrorName(cudaErrorNoDevice), "cudaErrorNoDevice"));
    DG_CHECK(!strcmp(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory"));
}

static void test_devices()
{
    int n = 0, value = 0;
    cudaDeviceProp p;
    sim::device_model before = sim::device;
    sim::device.count = 2;
    sim::device.major = 7;
    sim::device.minor = 5;
    sim::device.shared_optin = 64 * 1024;
    OK(cudaGetDeviceCount(&n));
    DG_CHECK(n == 2);
    OK(cudaGetDeviceProperties(&p, 1));
    DG_CHECK(p.major == 7 && p.minor == 5 && p.sharedMemPerBlockOptin == 65536 && strstr(p.name, "1"));
    OK(cudaDeviceGetAttribute(&value, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    DG_CHECK(value == 65536);
    IS(cudaSetDevice(2), cudaErrorInvalidDevice);
    IS(cudaGetDeviceProperties(&p, 2), cudaErrorInvalidDevice);
    KLAUNCH(broken_kernel, 1, 32, 65537, 0);
    IS(dev_take_fault().error, cudaErrorInvalidValue);
    sim::device.count = 0;
    IS(cudaGetDeviceCount(&n), cudaErrorNoDevice);
    DG_CHECK(n == 0);
    sim::device.trouble = cudaErrorInsufficientDriver;
    IS(cudaGetDeviceCount(&n), cudaErrorInsufficientDriver);
    IS(cudaSetDevice(0), cudaErrorInsufficientDriver);
    sim::device = before;
    (void)cudaGetLastError();
}

/* ---- streams ---- */

static void stamp(void *data) { ++*(int *)data; }

/* Results may be read only after waiting. Deferred, nothing happens before that; at once, everything has. */
static void test_streams(bool deferred)
{
    sim::opt.deferred = deferred;
    cudaStream_t a, b, free_stream;
    cudaEvent_t ready, begin, end;
    OK(cudaStreamCreate(&a));
    OK(cudaStreamCreate(&b));
    OK(cudaStreamCreateWithFlags(&free_stream, cudaStreamNonBlocking));
    OK(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
    OK(cudaEventCreate(&begin));
    OK(cudaEventCreate(&end));
    DG_CHECK(sim::live_handles() == 6);
    float *h = nullptr, ms = -1;
    int stamps = 0;
    OK(cudaMallocHost(&h, 400));
    {
        dev_buffer<float> x(std::vector<float>(100, 1)), y(100), z(100);
        OK(cudaEventRecord(begin, a));
        add(y.p, x.p, 1, 100, a);
        OK(cudaEventRecord(ready, a));
        OK(cudaEventRecord(end, a));
        OK(cudaStreamWaitEvent(b, ready));
        add(z.p, y.p, 1, 100, b);
        OK(cudaMemcpyAsync(h, z.p, 400, cudaMemcpyDeviceToHost, b));
        OK(cudaLaunchHostFunc(b, stamp, &stamps));
        DG_CHECK(deferred ? isnan(h[99]) && stamps == 0 : h[99] == 3 && stamps == 1);
        IS(cudaEventElapsedTime(&ms, begin, end), deferred ? cudaErrorNotReady : cudaSuccess);
        OK(cudaStreamSynchronize(b)); /* through the event, of a as well */
        DG_CHECK(h[0] == 3 && h[99] == 3 && stamps == 1);
        OK(cudaEventQuery(ready));
        IS(cudaEventElapsedTime(&ms, begin, end), deferred ? cudaErrorNotReady : cudaSuccess); /* `end` came after it */
        OK(cudaEventSynchronize(end));
        OK(cudaEventElapsedTime(&ms, begin, end));
        DG_CHECK(ms >= 0);
        IS(cudaEventElapsedTime(&ms, begin, ready), cudaErrorInvalidResourceHandle); /* has no time */

        /* Pinned memory is read when the copy runs, other memory when it is asked for. */
        std::vector<float> pageable(100, 5);
        for (int i = 0; i < 100; i++) h[i] = 5;
        OK(cudaMemcpyAsync(x.p, pageable.data(), 400, cudaMemcpyHostToDevice, a));
        OK(cudaMemcpyAsync(y.p, h, 400, cudaMemcpyHostToDevice, a));
        pageable.assign(100, 6);
        h[0] = 6;
        OK(cudaStreamSynchronize(a));
        DG_CHECK(x.get()[0] == 5 && y.get()[0] == (deferred ? 6 : 5));

        /* The default stream waits for the others and they for it; a non-blocking one goes alone. */
        add(x.p, x.p, 1, 100, a);
        add(x.p, x.p, 10, 100, nullptr);
        add(x.p, x.p, 100, 100, b);
        OK(cudaStreamSynchronize(b));
        OK(cudaMemcpyAsync(h, x.p, 400, cudaMemcpyDeviceToHost, free_stream));
        OK(cudaStreamSynchronize(free_stream));
        DG_CHECK(h[7] == 116);
        OK(cudaLaunchHostFunc(free_stream, stamp, &stamps));
        OK(cudaMemset(y.p, 0, 4));
        DG_CHECK(stamps == (deferred ? 1 : 2));
        int polls = 0;
        while ((e = cudaStreamQuery(free_stream)) == cudaErrorNotReady && polls < 10) polls++;
        DG_CHECK(e == cudaSuccess && stamps == 2);
        OK(cudaLaunchHostFunc(a, stamp, &stamps));
        OK(cudaDeviceSynchronize());
        DG_CHECK(stamps == 3);
    }
    OK(cudaFreeHost(h));
    IS(cudaStreamSynchronize((cudaStream_t)0x1234), cudaErrorInvalidResourceHandle);
    for (cudaStream_t s : {a, b, free_stream}) OK(cudaStreamDestroy(s));
    for (cudaEvent_t v : {ready, begin, end}) OK(cudaEventDestroy(v));
    IS(cudaStreamDestroy(a), cudaErrorInvalidResourceHandle);
    IS(cudaEventRecord(ready, nullptr), cudaErrorInvalidResourceHandle);
    DG_CHECK(sim::live_handles() == 0 && sim::live_allocations() == 0);
    (void)cudaGetLastError();
}

/* ---- graphs ---- */

/* Nodes that nothing keeps in order run in another order than they were asked for, unless the mode is to run them so.
 */
static void test_branches(cudaStream_t s, cudaStream_t side)
{
    cudaStream_t third;
    cudaEvent_t mark[3];
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    OK(cudaStreamCreate(&third));
    for (auto &m : mark) OK(cudaEventCreate(&m));
    static int order[5], ran;
    static const int name[5] = {0, 1, 2, 3, 4};
    const auto note = [](cudaStream_t on, int i) {
        OK(cudaLaunchHostFunc(
            on, [](void *n) { order[ran++ % 5] = *(const int *)n; }, (void *)&name[i]));
    };
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    note(s, 0);
    OK(cudaEventRecord(mark[0], s));
    OK(cudaStreamWaitEvent(side, mark[0]));
    note(side, 1);
    OK(cudaEventRecord(mark[1], side));
    OK(cudaStreamWaitEvent(third, mark[1]));
    note(third, 2);
    note(s, 3); /* waits for 0 alone */
    OK(cudaEventRecord(mark[2], third));
    OK(cudaStreamWaitEvent(s, mark[2])); /* side is joined by way of third */
    note(s, 4);
    OK(cudaStreamEndCapture(s, &graph));
    OK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    bool late = false, early = false;
    for (int i = 0; i < 20; i++) {
        ran = 0;
        OK(cudaGraphLaunch(exec, s));
        OK(cudaStreamSynchronize(s));
        int at[5];
        for (int k = 0; k < 5; k++) at[order[k]] = k;
        DG_CHECK(ran == 5 && at[0] == 0 && at[1] < at[2] && at[4] == 4);
        (at[3] < at[2] ? early : late) = true;
    }
    DG_CHECKF(sim::opt.uneven     ? early && late
              : sim::opt.deferred ? early && !late
                                  : late && !early,
              "in one order%s", late ? "" : " alone");
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphExecDestroy(exec));
    for (auto &m : mark) OK(cudaEventDestroy(m));
    OK(cudaStreamDestroy(third));
}

static void test_graphs(bool deferred)
{
    sim::opt.deferred = deferred;
    cudaStream_t s, side;
    cudaEvent_t fork_event, join_event;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    OK(cudaStreamCreate(&s));
    OK(cudaStreamCreate(&side));
    OK(cudaEventCreate(&fork_event));
    OK(cudaEventCreate(&join_event));
    {
        dev_buffer<float> x(std::vector<float>(50, 0)), y(50);
        float *h = nullptr, by = 1;
        OK(cudaMallocHost(&h, 200));
        OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
        cudaStreamCaptureStatus status;
        OK(cudaStreamIsCapturing(s, &status));
        DG_CHECK(status == cudaStreamCaptureStatusActive);
        add(x.p, x.p, by, 50, s);
        by = 77; /* arguments were copied */
        OK(cudaEventRecord(fork_event, s));
        OK(cudaStreamWaitEvent(side, fork_event));
        add(y.p, x.p, 100, 50, side);
        OK(cudaEventRecord(join_event, side));
        OK(cudaStreamWaitEvent(s, join_event));
        OK(cudaMemcpyAsync(h, y.p, 200, cudaMemcpyDeviceToHost, s));
        OK(cudaStreamEndCapture(s, &graph));
        size_t nodes = 0;
        OK(cudaGraphGetNodes(graph, nullptr, &nodes));
        DG_CHECK(nodes == 3 && isnan(h[0]) && x.get()[0] == 0); /* nothing has run */
        OK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
        OK(cudaGraphDestroy(graph));
        OK(cudaGraphUpload(exec, s));
        for (int i = 1; i <= 3; i++) {
            OK(cudaGraphLaunch(exec, s));
            DG_CHECK(deferred ? !(h[49] == (float)(100 + i)) : h[49] == (float)(100 + i));
            OK(cudaStreamSynchronize(s));
            DG_CHECK(h[49] == (float)(100 + i));
        }
        OK(cudaGraphExecDestroy(exec));
        OK(cudaFreeHost(h));

        test_branches(s, side);

        /* What may not be captured ends the capture. */
        float *p = nullptr;
        for (int form = 0; form < 6; form++) {
            OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
            cudaError_t want = form == 5 ? cudaErrorStreamCaptureImplicit : cudaErrorStreamCaptureUnsupported;
            if (form == 0) IS(cudaMalloc(&p, 4), want);
            if (form == 1) IS(cudaStreamSynchronize(s), want);
            if (form == 2) IS(cudaDeviceSynchronize(), want);
            if (form == 3) IS(cudaMemcpy(x.p, y.p, 4, cudaMemcpyDeviceToDevice), want);
            if (form == 4) IS(cudaFree(x.p), want);
            if (form == 5) IS(cudaMemsetAsync(x.p, 0, 4, nullptr), want);
            OK(cudaStreamIsCapturing(s, &status));
            DG_CHECK(status == cudaStreamCaptureStatusInvalidated);
            IS(cudaStreamEndCapture(s, &graph), cudaErrorStreamCaptureInvalidated);
            DG_CHECK(!graph);
        }
        IS(cudaStreamEndCapture(s, &graph), cudaErrorStreamCaptureUnmatched);
        IS(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal), cudaErrorStreamCaptureUnsupported);
        OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed)); /* which allows it */
        OK(cudaMalloc(&p, 4));
        OK(cudaFree(p));
        OK(cudaEventRecord(fork_event, s));
        OK(cudaStreamWaitEvent(side, fork_event));
        add(y.p, x.p, 1, 50, side);
        IS(cudaStreamEndCapture(s, &graph), cudaErrorStreamCaptureUnjoined);
        add(y.p, x.p, 1, 50, s); /* both streams are free again */
        add(y.p, x.p, 1, 50, side);
        DG_CHECK(dev_ok("after captures"));
    }
    OK(cudaEventDestroy(fork_event));
    OK(cudaEventDestroy(join_event));
    OK(cudaStreamDestroy(s));
    OK(cudaStreamDestroy(side));
    DG_CHECK(sim::live_handles() == 0 && sim::live_allocations() == 0);
    (void)cudaGetLastError();
}

int main()
{
    bool deferred = sim::opt.deferred;
    sim::opt.deferred = false;
    test_memory();
    test_guard();
    test_devices();
    sim::opt.deferred = deferred;
    test_errors();
    for (int d = 0; d < 2; d++) {
        test_streams(d);
        test_graphs(d);
    }
    return dg_test_report();
}
