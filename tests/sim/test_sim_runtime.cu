/* Tests memory, errors, streams and events of the simulated runtime API. */
#include <sys/wait.h>
#include <unistd.h>
#include "calls.h"

static cudaError_t e;

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
    IS(cudaGetLastError(), cudaErrorMemoryAllocation); /* the error is reported once, then cleared */
    OK(cudaGetLastError());
    OK(cudaMalloc(&d2, 0));
    DG_CHECK(!d2);
    OK(cudaFree(nullptr));
    std::vector<float> v(1000, 2), w(1000);
    OK(cudaMemcpy(d, v.data(), 4000, cudaMemcpyHostToDevice));
    OK(cudaMemset(d + 10, 0, 40));
    OK(cudaMemcpy(w.data(), d, 4000, cudaMemcpyDeviceToHost));
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

/* Checks that a host access to device memory ends the program, except with ThreadSanitizer. */
static void test_guard()
{
#ifndef __SANITIZE_THREAD__
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
#endif
}

/* ---- errors ---- */

static __global__ void broken_kernel() { __trap(); }

/* Runs a small CUDA program, which releases all memory and handles. Returns its first error. */
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
    for (long k = 1; k <= steps; k++) { /* each API call fails once, and only the failing call returns the error */
        sim::fail_call(k, cudaErrorDevicesUnavailable);
        result = 0;
        e = program(&result);
        DG_CHECK(sim::live_allocations() == 0 && sim::live_handles() == 0);
        DG_CHECKF(k <= 7 ? e == cudaErrorDevicesUnavailable && !result : e == cudaSuccess && result == 3,
                  "call %ld: %s", k, cudaGetErrorName(e));
        DG_CHECK(cudaGetLastError() == cudaErrorDevicesUnavailable && cudaGetLastError() == cudaSuccess);
        sim::clear();
    }
    sim::fail_call(4, cudaErrorECCUncorrectable); /* all later API calls fail too */
    IS(program(&result), cudaErrorECCUncorrectable);
    IS(cudaDeviceSynchronize(), cudaErrorECCUncorrectable);
    IS(cudaGetLastError(), cudaErrorECCUncorrectable);
    IS(cudaGetLastError(), cudaErrorECCUncorrectable);
    sim::clear();
    OK(cudaDeviceSynchronize());

    sim::opt.quiet = true;
    KLAUNCH(broken_kernel, 1, 1, 0, 0); /* the launch succeeds, and later calls return the error */
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
    DG_CHECK(p.pciBusID == 2);
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

/* In mode `deferred`, no work may run before a call waits for it. In other modes, work must run at once. */
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
        OK(cudaStreamSynchronize(b)); /* through the event, b also waits for a */
        DG_CHECK(h[0] == 3 && h[99] == 3 && stamps == 1);
        OK(cudaEventQuery(ready));
        /* event `end` was recorded after the kernel */
        IS(cudaEventElapsedTime(&ms, begin, end), deferred ? cudaErrorNotReady : cudaSuccess);
        OK(cudaEventSynchronize(end));
        OK(cudaEventElapsedTime(&ms, begin, end));
        DG_CHECK(ms >= 0);
        IS(cudaEventElapsedTime(&ms, begin, ready), cudaErrorInvalidResourceHandle); /* event `ready` records no time */

        /* Pinned memory is read when the copy runs, pageable memory when the copy is requested. */
        std::vector<float> pageable(100, 5);
        for (int i = 0; i < 100; i++) h[i] = 5;
        OK(cudaMemcpyAsync(x.p, pageable.data(), 400, cudaMemcpyHostToDevice, a));
        OK(cudaMemcpyAsync(y.p, h, 400, cudaMemcpyHostToDevice, a));
        pageable.assign(100, 6);
        h[0] = 6;
        OK(cudaStreamSynchronize(a));
        DG_CHECK(x.get()[0] == 5 && y.get()[0] == (deferred ? 6 : 5));

        /* The default stream and other blocking streams wait for each other. A non-blocking stream does not wait. */
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
        OK(cudaEventRecord(ready, free_stream));
        while ((e = cudaEventQuery(ready)) == cudaErrorNotReady && polls < 10) polls++;
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

int main()
{
    bool deferred = sim::opt.deferred;
    sim::opt.deferred = false;
    test_memory();
    test_guard();
    test_devices();
    sim::opt.deferred = deferred;
    test_errors();
    for (int d = 0; d < 2; d++) test_streams(d);
    return dg_test_report();
}
