/* Helpers of kernel tests, which run in the simulator or on a GPU. Device buffers start as NaN and detect writes
 * past their end. */
#pragma once

#include <stdlib.h>
#include <utility>
#include <vector>
#include "kernels/cuda/cublas.cuh"
#include "tests/test.h"
extern "C" {
#include "core/tune/tune.h"
#include "kernels/ops/conv/variants.h"
}

/* True if tests should use few multiply-adds per launch, because a sanitizer is slow. */
static inline bool dev_small()
{
#ifdef __CUDACC__
    return getenv("DG_TEST_SMALL") != nullptr;
#else
    return sim::opt.small;
#endif
}

/* Hashes all results and prints the hash at the end of the program. tests/sim/run requires equal hashes for all
 * orders of threads and blocks. */
struct dev_hash {
    unsigned long long value = 0xcbf29ce484222325u;
    size_t bytes = 0;
    ~dev_hash()
    {
        if (bytes) printf("bits %016llx of %zu bytes\n", value, bytes);
    }
};
static inline void dev_bits(const void *p, size_t bytes)
{
    static dev_hash hash;
    for (size_t i = 0; i < bytes; i++) hash.value = (hash.value ^ ((const unsigned char *)p)[i]) * 0x100000001b3u;
    hash.bytes += bytes;
}

/* Returns the GPU for which tests select variants: sm_90 in the simulator, else the GPU of this machine. Limits the
 * GPU's shared memory to `shared` bytes. */
static inline dg_gpu dev_gpu(size_t shared, dg_math math)
{
#ifdef __CUDACC__
    int major = 0, minor = 0, most = 0;
    if (cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0) != cudaSuccess ||
        cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0) != cudaSuccess ||
        cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0) != cudaSuccess) {
        fprintf(stderr, "no device to test: %s\n", cudaGetErrorName(cudaGetLastError()));
        exit(1);
    }
    return dg_gpu{10 * major + minor, (size_t)most < shared ? (size_t)most : shared, math, major == 9 && minor == 0};
#else
    return dg_gpu{90, shared, math, true};
#endif
}

/* In the simulator, enables wgmma only for variant wgmma. On GPUs with wgmma, variant mma has no bf16 forward pass. */
static inline dg_gpu dev_gpu_of(const dg_variant *variant, dg_gpu gpu)
{
#ifdef __CUDACC__
    (void)variant;
#else
    gpu.wgmma = variant == &dg_conv_variant_wgmma;
#endif
    return gpu;
}

/* True if cuBLAS is available, otherwise prints the reason once. */
static inline bool dev_cublas()
{
    static const char *const why = dg_cublas_open();
    static const bool there = !why || (printf("cublas is not tested: %s\n", why), false);
    return there;
}

/* Waits for launches. Returns false if a launch failed. Clears the simulator's errors. */
static inline bool dev_ok(const char *what)
{
    dev_fault fault = dev_take_fault();
    cudaError_t e = cudaDeviceSynchronize();
    if (fault.error != cudaSuccess)
        DG_CHECKF(false, "%s: %s: launch of %s at %s:%d: %s", what, fault.op, fault.at.kernel, fault.at.file,
                  fault.at.line, cudaGetErrorName(fault.error));
    if (e != cudaSuccess) DG_CHECKF(false, "%s: %s", what, cudaGetErrorName(e));
    DG_CHECKF(fault.error == cudaSuccess && e == cudaSuccess, "%s", what);
#ifdef __CUDACC__
    if (e != cudaSuccess) exit(dg_test_report()); /* after a launch error the process cannot use the GPU */
#else
    sim::clear();
#endif
    return fault.error == cudaSuccess && e == cudaSuccess;
}

/* n values in device memory, initially NaN (bytes 0xff). On a GPU, guard bytes follow the values and get() checks
 * them. In the simulator, the allocation ends after the values. */
template <class T> class dev_buffer {
#ifdef __CUDACC__
    static const size_t band = 1024;
#else
    static const size_t band = 0;
#endif
    size_t bytes() const { return n * sizeof(T); }
    /* cudaMemcpy may return before the copy is complete, and streams do not wait for the copy. */
    static bool done() { return cudaStreamSynchronize(nullptr) == cudaSuccess; }

  public:
    T *p = nullptr;
    size_t n;
    explicit dev_buffer(size_t count) : n(count)
    {
        if (cudaMalloc((void **)&p, bytes() + band) != cudaSuccess ||
            cudaMemset((void *)p, 0xff, bytes() + band) != cudaSuccess || !done()) {
            fprintf(stderr, "no device memory for a test: %s\n", cudaGetErrorName(cudaGetLastError()));
            exit(1);
        }
    }
    explicit dev_buffer(const std::vector<T> &v) : dev_buffer(v.size()) { put(v); }
    dev_buffer(const dev_buffer &) = delete;
    dev_buffer &operator=(const dev_buffer &) = delete;
    ~dev_buffer() { cudaFree((void *)p); }
    void put(const std::vector<T> &v)
    {
        DG_CHECK(cudaMemcpy((void *)p, v.data(), bytes(), cudaMemcpyHostToDevice) == cudaSuccess && done());
    }
    std::vector<T> get() const
    {
        std::vector<T> v(n);
        DG_CHECK(cudaMemcpy((void *)v.data(), p, bytes(), cudaMemcpyDeviceToHost) == cudaSuccess);
        if (band) {
            std::vector<unsigned char> b(band);
            DG_CHECK(cudaMemcpy(b.data(), (const char *)p + bytes(), band, cudaMemcpyDeviceToHost) == cudaSuccess);
            size_t i = 0;
            while (i < band && b[i] == 0xff) i++;
            DG_CHECKF(i == band, "written %zu bytes past the end of %zu values", i, n);
        }
        return v;
    }
};

/* Rounds x as the kernels do (dg_mma_fp16, to_bf16x2). For fp16, x must be finite. For bf16 and tf32, x must be
 * normal. */
static inline double dev_rounded(double x, dg_math math, int shift = 0)
{
    if (math == DG_MATH_FP16) {
        const double v = fmin(fmax(ldexp(x, shift), -65504), 65504);
        int e;
        frexp(v, &e);
        const int places = e - 11 < -24 ? 24 : 11 - e; /* fp16 subnormals are multiples of 2^-24 */
        return ldexp(nearbyint(ldexp(v, places)), -places - shift);
    }
    const float f = (float)x;
    uint32_t u;
    memcpy(&u, &f, 4);
    u = math == DG_MATH_BF16 ? (u + 0x7fffu + (u >> 16 & 1)) & 0xffff0000u : (u + 0x1000u) & ~0x1fffu;
    float r;
    memcpy(&r, &u, 4);
    return (double)r;
}

/* Rounds values to bf16. */
static inline std::vector<uint16_t> dev_halves(const std::vector<float> &v)
{
    std::vector<uint16_t> half(v.size());
    for (size_t i = 0; i < v.size(); i++) {
        uint32_t word;
        memcpy(&word, &v[i], sizeof word);
        half[i] = (uint16_t)((word + 0x7fff + (word >> 16 & 1)) >> 16);
    }
    return half;
}

/* True if fused launches support `math` on this GPU. In the simulator, replaces *gpu by a Turing GPU if math is
 * fp16. */
static inline bool dev_fuses(dg_math math, dg_gpu *gpu)
{
#ifdef __CUDACC__
    return math != DG_MATH_FP16 || gpu->arch < 80;
#else
    if (math == DG_MATH_FP16) *gpu = dg_gpu{75, 64 << 10, math, false};
    return true;
#endif
}

/* Returns n pseudo-random numbers in (-1, 1). */
static inline std::vector<float> dev_random(size_t n, unsigned long long seed)
{
    std::vector<float> v(n);
    for (float &f : v) f = (float)dg_test_random(&seed);
    return v;
}
