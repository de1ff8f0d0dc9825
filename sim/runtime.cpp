/* The simulated runtime API: options, errors, devices, launches, memory. A lock allows one API call at a time. */
#include "api.h"

#include <unistd.h>

using namespace sim;

namespace sim {

options opt = {FORWARD, 1, false, false, false, tsan(), false, 2};
device_model device = {1, 9, 0, 6, (size_t)1 << 30, 227 * 1024, 13000, cudaSuccess};

static bool read_environment()
{
    const char *e = getenv("SIM");
    std::string words = e ? e : "";
    for (size_t at = 0; at < words.size();) {
        size_t end = std::min(words.find_first_of(" ,", at), words.size());
        std::string w = words.substr(at, end - at);
        at = end + 1;
        if (w.empty()) continue;
        else if (w == "forward") opt.order = FORWARD;
        else if (w == "reverse") opt.order = REVERSE;
        else if (w == "random") opt.order = RANDOM;
        else if (w == "lazy") opt.lazy = true;
        else if (w == "deferred") opt.deferred = true;
        else if (w == "uneven") opt.deferred = opt.uneven = true;
        else if (w == "small") opt.small = true;
        else if (sscanf(w.c_str(), "seed=%u", &opt.seed) == 1) continue;
        else if (sscanf(w.c_str(), "threads=%d", &opt.threads) == 1) continue;
        else if (fault_word(w.c_str())) continue;
        else {
            fprintf(stderr, "SIM=%s: unknown word \"%s\"; sim/sim.h lists the words\n", e, w.c_str());
            exit(2);
        }
    }
    memory_watch();
    return true;
}
static bool ready = read_environment();

std::recursive_mutex &api = *new std::recursive_mutex;
static long called, fail_at;
static cudaError_t fail_with;
static thread_local cudaError_t last;

static bool sticky(cudaError_t e)
{
    return e == cudaErrorECCUncorrectable ||
           (e >= cudaErrorIllegalAddress && e <= cudaErrorLaunchFailure && e != cudaErrorLaunchOutOfResources) ||
           e == cudaErrorUnknown;
}

void clear()
{
    forget_report();
    forget_ldmatrix();
    device_error = 0;
    last = cudaSuccess;
    fail_at = 0;
}
void fail_call(long k, cudaError_t e)
{
    fail_at = called + k;
    fail_with = e;
}
long calls() { return called; }

cudaError_t finish(cudaError_t e)
{
    if (e != cudaSuccess && e != cudaErrorNotReady) last = e;
    return e;
}

cudaError_t begin(const char *call)
{
    if (++called == fail_at) {
        fprintf(stderr, "sim: %s fails\n", call);
        if (sticky(fail_with)) device_error = fail_with;
        return finish(fail_with);
    }
    if (device.trouble) return finish(device.trouble);
    if (!device.count) return finish(cudaErrorNoDevice);
    return finish((cudaError_t)device_error.load());
}

extern "C" char __executable_start;

/* True if a word could be a pointer into the calling thread's stack, the program or its heap. */
static bool looks_like_host(uint64_t word)
{
    uint64_t stack = (uint64_t)__builtin_frame_address(0);
    return (word > stack - 65536 && word < stack + (1 << 20)) ||
           (word >= (uint64_t)&__executable_start && word < (uint64_t)sbrk(0));
}

void check_words(const char *kernel, const void *value, size_t bytes, bool pointer)
{
    if (device_error) return;
    for (size_t i = 0; i + 8 <= bytes; i += 8) {
        uint64_t word;
        memcpy(&word, (const char *)value + i, 8);
        if (!pointer && (uint32_t)word < 1u << 16) continue;
        const void *p = (const void *)word;
        const char *what = memory_freed(p)                    ? "device memory that was freed"
                           : looks_like_host(word) || pointer ? "neither device nor pinned memory"
                                                              : nullptr;
        if (!word || memory_any(p) || !what) continue;
        report({nullptr, 0}, "%s: byte %zu of an argument is %p, %s", kernel, i, p, what);
        return;
    }
}

/* Drivers before CUDA 12.3 cannot load a kernel during a capture. */
static cudaError_t load(const launch_site &at)
{
    static std::set<std::string> &loaded = *new std::set<std::string>;
    if (device.driver >= 12030 || loaded.count(at.kernel)) return cudaSuccess;
    if (cudaError_t e = refuse_in_capture()) return e;
    loaded.insert(at.kernel);
    return cudaSuccess;
}

bool (*watch)(const launch_view &);

cudaError_t launch(const launch_site &at, launch_mode mode, bool overlapping, dim3 blocks, dim3 threads, size_t shared,
                   cudaStream_t stream, kernel_call body)
{
    std::shared_ptr<void> call(body.what, body.drop);
    CALL;
    uint64_t n = (uint64_t)threads.x * threads.y * threads.z, all = (uint64_t)blocks.x * blocks.y * blocks.z;
    if (!n || !all || n > 1024 || threads.z > 64 || blocks.x > 0x7fffffff || blocks.y > 65535 || blocks.z > 65535)
        return cudaErrorInvalidConfiguration;
    if (shared > device.shared_optin) return cudaErrorInvalidValue;
    uint64_t resident = std::min<uint64_t>(2048 / n, shared ? (device.shared_optin + 1024) / (shared + 1024) : 32);
    if (mode == COOPERATIVE && all > resident * (uint64_t)device.multiprocessors)
        return cudaErrorCooperativeLaunchTooLarge;
    if (mode == CLUSTERED && (device.major < 9 || blocks.z > 8)) return cudaErrorInvalidConfiguration;
    if (overlapping && device.major < 9) return cudaErrorNotSupported;
    if (cudaError_t e = load(at)) return e;
    if (watch && !watch({at.kernel, blocks, threads, shared, overlapping})) return cudaSuccess;
    if (cudaError_t e = fault_at_launch(at.op)) return e;
    auto g = std::make_shared<grid>();
    *g = {at.kernel, at.op ? at.op : "",
          at.file,   at.line,
          mode,      overlapping,
          blocks,    threads,
          shared,    [call, run = body.run] { run(call.get()); }};
    return submit(stream, [g] {
        run_grid(*g);
        fault_in(*g);
    });
}

} // namespace sim

const char *cudaGetErrorName(cudaError_t e)
{
    switch (e) {
#define X(name, value, text) \
    case cuda##name: return "cuda" #name;
        SIM_ERRORS(X)
#undef X
    }
    return "unrecognized error code";
}
const char *cudaGetErrorString(cudaError_t e)
{
    switch (e) {
#define X(name, value, text) \
    case cuda##name: return text;
        SIM_ERRORS(X)
#undef X
    }
    return "unrecognized error code";
}
cudaError_t cudaPeekAtLastError(void) { return device_error ? (cudaError_t)device_error.load() : last; }
cudaError_t cudaGetLastError(void)
{
    cudaError_t e = cudaPeekAtLastError();
    last = cudaSuccess;
    return e;
}

cudaError_t cudaDriverGetVersion(int *version)
{
    *version = device.driver;
    return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = 13000;
    return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int *count)
{
    *count = 0;
    CALL;
    *count = device.count;
    return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *p, int number)
{
    CALL;
    if (number < 0 || number >= device.count) return finish(cudaErrorInvalidDevice);
    *p = {};
    snprintf(p->name, sizeof p->name, "Simulated GPU %d", number);
    p->totalGlobalMem = device.memory;
    p->sharedMemPerBlockOptin = device.shared_optin;
    p->major = device.major;
    p->minor = device.minor;
    p->multiProcessorCount = device.multiprocessors;
    p->l2CacheSize = 1 << 22;
    p->cooperativeLaunch = 1;
    p->pciBusID = number + 1;
    return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int number)
{
    CALL;
    if (number < 0 || number >= device.count) return finish(cudaErrorInvalidDevice);
    switch (attribute) {
    case cudaDevAttrComputeCapabilityMajor: *value = device.major; break;
    case cudaDevAttrComputeCapabilityMinor: *value = device.minor; break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = (int)device.shared_optin; break;
    default: return finish(cudaErrorInvalidValue);
    }
    return cudaSuccess;
}
static int chosen;
cudaError_t cudaSetDevice(int number)
{
    wait_for_file();
    CALL;
    if (number < 0 || number >= device.count) return finish(cudaErrorInvalidDevice);
    chosen = number;
    return cudaSuccess;
}
cudaError_t cudaGetDevice(int *number)
{
    CALL;
    *number = chosen;
    return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize(void)
{
    CALL;
    NOT_IN_CAPTURE;
    run_all();
    settle();
    return finish((cudaError_t)device_error.load());
}
cudaError_t cudaMemGetInfo(size_t *free, size_t *total)
{
    CALL;
    *total = device.memory;
    *free = device.memory - memory_used();
    return cudaSuccess;
}
cudaError_t sim_func(cudaFuncAttributes *out, size_t dynamic)
{
    CALL;
    if (dynamic > device.shared_optin) return finish(cudaErrorInvalidValue);
    if (out) {
        *out = {};
        out->maxThreadsPerBlock = 1024;
        out->numRegs = 32;
        out->ptxVersion = out->binaryVersion = device.major * 10 + device.minor;
    }
    return cudaSuccess;
}

cudaError_t sim_malloc(void **p, size_t bytes, bool host)
{
    CALL;
    NOT_IN_CAPTURE;
    *p = nullptr;
    if (!bytes) return cudaSuccess;
    if (!host && bytes > device.memory - memory_used()) return finish(cudaErrorMemoryAllocation);
    *p = memory_alloc(bytes, host);
    return finish(*p ? cudaSuccess : cudaErrorMemoryAllocation);
}
static cudaError_t release_memory(void *p, bool host)
{
    RELEASE_CALL;
    NOT_IN_CAPTURE;
    if (!p) return trouble;
    if (!memory_live(p, host)) return finish(cudaErrorInvalidValue);
    run_all();
    settle();
    memory_free(p, host);
    return finish(trouble ? trouble : (cudaError_t)device_error.load());
}
cudaError_t cudaFree(void *p) { return release_memory(p, false); }
cudaError_t cudaFreeHost(void *p) { return release_memory(p, true); }

static bool copy_is_legal(const void *dst, const void *src, size_t bytes, cudaMemcpyKind kind)
{
    bool to_device = memory_owns(dst, bytes, false), from_device = memory_owns(src, bytes, false);
    bool to_any = memory_any(dst) && !memory_owns(dst, bytes, true),
         from_any = memory_any(src) && !memory_owns(src, bytes, true);
    switch (kind) { /* host memory must not be device memory, and must not exceed a pinned allocation */
    case cudaMemcpyHostToDevice: return to_device && !from_any;
    case cudaMemcpyDeviceToHost: return from_device && !to_any;
    case cudaMemcpyDeviceToDevice: return to_device && from_device;
    case cudaMemcpyHostToHost: return !to_any && !from_any;
    }
    return false;
}
cudaError_t cudaMemcpy(void *dst, const void *src, size_t bytes, cudaMemcpyKind kind)
{
    CALL;
    NOT_IN_CAPTURE;
    if (!bytes) return cudaSuccess;
    if (!copy_is_legal(dst, src, bytes, kind)) return finish(cudaErrorInvalidValue);
    if (cudaError_t e = submit(nullptr, [=] { settle(), memcpy(dst, src, bytes); })) return finish(e);
    run_until(stream_of(nullptr), stream_of(nullptr)->issued);
    return finish((cudaError_t)device_error.load());
}
cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream)
{
    CALL;
    if (!bytes) return cudaSuccess;
    if (!copy_is_legal(dst, src, bytes, kind)) return finish(cudaErrorInvalidValue);
    CUstream_st *s = stream_of(stream);
    if (!s) return finish(cudaErrorInvalidResourceHandle);
    /* The driver reads pageable source memory before the copy call returns. */
    if (!memory_any(src) && !s->capture) {
        auto staged = std::make_shared<std::vector<char>>((const char *)src, (const char *)src + bytes);
        return finish(submit(stream, [=] { settle(), memcpy(dst, staged->data(), bytes); }));
    }
    cudaError_t e = submit(stream, [=] { settle(), memcpy(dst, src, bytes); });
    if (!memory_any(dst) && !s->capture) run_until(s, s->issued);
    return finish(e);
}
static cudaError_t fill_memory(void *dst, int value, size_t bytes, cudaStream_t stream, bool async)
{
    CALL;
    if (!async) NOT_IN_CAPTURE;
    if (!bytes) return cudaSuccess;
    if (!memory_owns(dst, bytes, false)) return finish(cudaErrorInvalidValue);
    return finish(submit(stream, [=] { settle(), memset(dst, value, bytes); }));
}
cudaError_t cudaMemset(void *dst, int value, size_t bytes) { return fill_memory(dst, value, bytes, nullptr, false); }
cudaError_t cudaMemsetAsync(void *dst, int value, size_t bytes, cudaStream_t stream)
{
    return fill_memory(dst, value, bytes, stream, true);
}
