/* The kernel simulator: a .cu file compiled as C++ runs its kernels on the CPU, a fiber for every CUDA thread, and
 * misuse is reported with file, line, block and thread. kernels/dev/dev.cuh includes this header where nvcc would
 * define the language; what it gives a kernel is what CUDA gives it, strictly: barriers and collectives that the
 * hardware happens to forgive are errors here.
 *
 * How it runs is chosen by the environment variable SIM, words separated by spaces or commas:
 *   forward, reverse, random   the order of threads, warps and blocks. Each thread runs as far as it can.
 *   seed=N                     of the random order
 *   lazy                       cp.async: the destination holds garbage until the thread waits for the copy
 *   deferred                   streams: work is done only when something waits for it
 *   uneven                     and at times some of that of a stream chosen at random: others fall behind
 *   threads=N                  blocks are spread over that many CPU threads
 *   small                      tests choose small shapes (always so under ThreadSanitizer)
 * or by a test through sim::opt. For whole programs there is also (faults.cpp):
 *   sm=90 devices=1 memory=KB driver=13000 trouble=CODE   the device; every call fails with the error of this number
 *   wait=FILE                  the device is not opened before this file is there (or 20 s have passed)
 *   fail=N:CODE                the N-th call of the API fails, and stderr names it; `calls` tells at the end how many
 * there were, and graphs that were launched fault=OP:N:CODE            the N-th kernel that runs for this op ends with
 * this error of the device refuse=OP:N:CODE           the N-th launch for this op is refused Under AddressSanitizer
 * shared arrays are red-zoned and device memory is exact; under ThreadSanitizer every CUDA thread is a thread of its
 * own, and only barriers, __syncwarp, grid barriers and atomics order its accesses, so that races are found whatever
 * the schedule. */
#ifndef SIM_H
#define SIM_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <functional>
#include <type_traits>
#include "runtime.h"

#define CUSIM 1
#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(n) alignas(n)
#define __shared__ static_assert(false, "shared memory is declared with SHARED(), see kernels/dev/dev.cuh");
constexpr int warpSize = 32;

namespace sim {

/* ---- For tests ---- */

enum thread_order { FORWARD, REVERSE, RANDOM };
struct options {
    thread_order order;
    unsigned seed;
    bool lazy, deferred, uneven, small, quiet; /* quiet: messages are kept for error(), not printed */
    int threads;
};
extern options opt;

/* The made-up device; change it before the code under test looks at it. */
struct device_model {
    int count, major, minor, multiprocessors;
    size_t memory, shared_optin; /* bytes */
    int driver;                  /* CUDA version of the driver, 13000 */
    cudaError_t trouble;         /* every call fails with this one: no driver, old driver */
};
extern device_model device;

const char *error(); /* the first report since clear(), or "" */
void clear();        /* forget it, also the device's sticky error and an injected failure */

/* Fault injection: the k-th API call or launch from now (1: the next) fails with e; calls() counts them. */
void fail_call(long k, cudaError_t e);
long calls();
size_t live_allocations();
size_t live_handles(); /* streams, events, graphs */

/* Sees every launch before it is made; one for which it returns false is left out, and counts as done. */
struct launch_view {
    const char *kernel;
    dim3 grid, block;
    size_t shared;
    bool overlapping; /* it may begin before the launch in front of it has ended */
};
extern std::function<bool(const launch_view &)> watch;

/* Bank conflicts of ldmatrix: 8-row reads made, and the extra cycles they took, since clear(). */
struct ldmatrix_count {
    unsigned long reads, conflicts;
};
ldmatrix_count ldmatrix_counts();

/* ---- For the macros below and for dev.cuh ---- */

struct site {
    const char *file;
    int line;
};
/* As a default argument: the place of the call. */
static inline site here(const char *file = __builtin_FILE(), int line = __builtin_LINE()) { return {file, line}; }

struct block_view {
    uint3 index;
    dim3 block, grid;
};
struct thread_view {
    uint3 index;
    unsigned lane;
    const block_view *block;
};
extern __thread thread_view *self; /* __thread, not thread_local: no call for each access */

struct launch_site {
    const char *kernel, *op, *file;
    int line;
};
enum launch_mode { SERIAL, COOPERATIVE, OVERLAPPING };
cudaError_t launch(const launch_site &at, launch_mode mode, dim3 grid, dim3 block, size_t shared, cudaStream_t stream,
                   std::function<void()> body);
[[noreturn]] void fail(site at, const char *format, ...) __attribute__((format(printf, 2, 3)));
void check_words(const char *kernel, const void *value, size_t bytes, bool pointer);
template <class T> static inline void check_argument(const char *kernel, const T &value)
{
    if (std::is_pointer<T>::value || std::is_class<T>::value)
        check_words(kernel, &value, sizeof value, std::is_pointer<T>::value);
}

enum collective_kind {
    SYNCWARP,
    SHUFFLE,
    VOTE,
    LDMATRIX,
    MMA_BF16,
    MMA_TF32,
    MMA_F16,
    MMA_FP16,
    WGMMA_BEGIN,
    WGMMA,
    WGMMA_COMMIT,
    WGMMA_WAIT
};
struct shuffle_in {
    uint64_t value;
    unsigned from;
};
struct ldmatrix_in {
    uint32_t row[4];
    const void *address;
    int matrices;
    bool transposed;
};
struct mma_in {
    uint32_t a[4], b[2];
    float c[4];
};
/* A matrix of wgmma: in shared memory, or (start NULL) a fragment in registers. */
struct wgmma_matrix {
    const unsigned char *start;
    int next_k, next_mn; /* bytes from 8 to the next 8 */
    bool transposed;
    uint32_t fragment[4];
};
struct wgmma_in {
    float *sums; /* NULL: of commit */
    int columns;
    wgmma_matrix a, b; /* of a product */
};
void wgmma(collective_kind kind, const wgmma_in &in, site at);
void wgmma_publish();
void block_barrier(site at);
void grid_barrier(site at);
void yield(site at);
void collective(collective_kind kind, unsigned mask, const void *in, void *out, site at);
void *shared_array(const void *key, size_t bytes, size_t align, const char *name, site at);
void *shared_dynamic(site at);
void *shared_take(unsigned *index, size_t bytes, site at);
void check_shared(const void *p, size_t bytes, const char *what, site at);
void async_copy(void *dst, const void *src, bool ok, site at);
void async_commit(site at);
void async_wait(unsigned left);
void dependency_wait(site at);
void dependents_launch(site at);
void early_load(void *to, const void *from, size_t bytes, site at);
void early_copy(void *dst, const void *src, bool ok, site at);

template <class T> static inline T shuffle(unsigned mask, T v, unsigned from, site at)
{
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "a shuffle moves 4 or 8 bytes");
    shuffle_in in = {0, from};
    uint64_t out;
    memcpy(&in.value, &v, sizeof v);
    collective(SHUFFLE, mask, &in, &out, at);
    memcpy(&v, &out, sizeof v);
    return v;
}
static inline unsigned segment_end(int width, site at)
{
    if (width < 1 || width > 32 || (width & (width - 1)))
        fail(at, "shuffle width %d is no power of two up to 32", width);
    return self->lane | (unsigned)(width - 1);
}
static inline unsigned vote(unsigned mask, int predicate, site at)
{
    unsigned out;
    collective(VOTE, mask, &predicate, &out, at);
    return out;
}
/* Atomics order memory (acq_rel): the last-block pattern with __threadfence is right and must look so. */
template <class T, class F> static inline T atomic(T *p, F f)
{
    T old = __atomic_load_n(p, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(p, &old, f(old), false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {}
    return old;
}
} // namespace sim

/* ---- The language ---- */

#define threadIdx (sim::self->index)
#define blockIdx (sim::self->block->index)
#define blockDim (sim::self->block->block)
#define gridDim (sim::self->block->grid)

static inline void __syncthreads(sim::site at = sim::here()) { sim::block_barrier(at); }
static inline void __syncwarp(unsigned mask = 0xffffffffu, sim::site at = sim::here())
{
    sim::collective(sim::SYNCWARP, mask, nullptr, nullptr, at);
}
template <class T> static inline T __shfl_sync(unsigned mask, T v, int from, int width = 32, sim::site at = sim::here())
{
    unsigned end = sim::segment_end(width, at);
    return sim::shuffle(mask, v, (end & ~(unsigned)(width - 1)) | ((unsigned)from & (unsigned)(width - 1)), at);
}
template <class T>
static inline T __shfl_xor_sync(unsigned mask, T v, int x, int width = 32, sim::site at = sim::here())
{
    unsigned end = sim::segment_end(width, at), from = sim::self->lane ^ (unsigned)x;
    return sim::shuffle(mask, v, from <= end ? from : sim::self->lane, at);
}
template <class T>
static inline T __shfl_down_sync(unsigned mask, T v, unsigned d, int width = 32, sim::site at = sim::here())
{
    unsigned end = sim::segment_end(width, at), from = sim::self->lane + d;
    return sim::shuffle(mask, v, from <= end ? from : sim::self->lane, at);
}
template <class T>
static inline T __shfl_up_sync(unsigned mask, T v, unsigned d, int width = 32, sim::site at = sim::here())
{
    unsigned start = sim::segment_end(width, at) & ~(unsigned)(width - 1);
    return sim::shuffle(mask, v, sim::self->lane - start >= d ? sim::self->lane - d : sim::self->lane, at);
}
static inline unsigned __ballot_sync(unsigned mask, int p, sim::site at = sim::here())
{
    return sim::vote(mask, p, at);
}
static inline int __any_sync(unsigned mask, int p, sim::site at = sim::here()) { return sim::vote(mask, p, at) != 0; }
static inline int __all_sync(unsigned mask, int p, sim::site at = sim::here())
{
    return sim::vote(mask, p, at) == mask;
}
static inline void __nanosleep(unsigned, sim::site at = sim::here()) { sim::yield(at); }
static inline void __threadfence() {}
static inline void __threadfence_block() {}
static inline void __trap(sim::site at = sim::here()) { sim::fail(at, "__trap()"); }

/* Integers only: a sum of floats by atomics depends on the order of arrival, and this project repeats. */
template <class T> static inline T atomicAdd(T *p, std::enable_if_t<std::is_integral<T>::value, T> v)
{
    return sim::atomic(p, [v](T old) { return (T)(old + v); });
}
template <class T> static inline T atomicMax(T *p, std::enable_if_t<std::is_integral<T>::value, T> v)
{
    return sim::atomic(p, [v](T old) { return old > v ? old : v; });
}
template <class T> static inline T atomicMin(T *p, std::enable_if_t<std::is_integral<T>::value, T> v)
{
    return sim::atomic(p, [v](T old) { return old < v ? old : v; });
}
template <class T> static inline T atomicOr(T *p, std::enable_if_t<std::is_integral<T>::value, T> v)
{
    return sim::atomic(p, [v](T old) { return (T)(old | v); });
}
template <class T> static inline T atomicExch(T *p, std::enable_if_t<std::is_integral<T>::value, T> v)
{
    return sim::atomic(p, [v](T) { return v; });
}
template <class T> static inline T atomicCAS(T *p, std::enable_if_t<std::is_integral<T>::value, T> expected, T v)
{
    return sim::atomic(p, [=](T old) { return old == expected ? v : old; });
}

template <class T> static inline T __ldg(const T *p) { return *p; }
template <class T> static inline T __ldcg(const T *p) { return *p; }
template <class T> static inline T __ldcs(const T *p) { return *p; }
template <class T> static inline void __stcs(T *p, T v) { *p = v; }
template <class A, class B> static inline std::common_type_t<A, B> min(A a, B b)
{
    std::common_type_t<A, B> x = a, y = b;
    return y < x ? y : x;
}
template <class A, class B> static inline std::common_type_t<A, B> max(A a, B b)
{
    std::common_type_t<A, B> x = a, y = b;
    return x < y ? y : x;
}
#define __expf(x) expf(x) /* the C library has functions of these names */
#define __logf(x) logf(x)
static inline float __fdividef(float a, float b) { return a / b; }
static inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
static inline double rsqrt(double x) { return 1.0 / sqrt(x); }
/* The spelled-out roundings keep the compiler from fusing; so must these. */
static inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
static inline float __fmul_rn(float a, float b)
{
    volatile float r = a * b;
    return r;
}
static inline float __fadd_rn(float a, float b)
{
    volatile float r = a + b;
    return r;
}
static inline float __fsub_rn(float a, float b)
{
    volatile float r = a - b;
    return r;
}
static inline float __fdiv_rn(float a, float b) { return a / b; }
static inline float __fsqrt_rn(float x) { return sqrtf(x); }
static inline double __dmul_rn(double a, double b)
{
    volatile double r = a * b;
    return r;
}
static inline double __dadd_rn(double a, double b)
{
    volatile double r = a + b;
    return r;
}
static inline uint32_t __float_as_uint(float f) { return sim_bits<uint32_t>(f); }
static inline int __float_as_int(float f) { return sim_bits<int>(f); }
static inline float __uint_as_float(uint32_t u) { return sim_bits<float>(u); }
static inline float __int_as_float(int i) { return sim_bits<float>(i); }
static inline int __float2int_rn(float f) { return (int)lrintf(f); }
static inline int __popc(unsigned v) { return __builtin_popcount(v); }
static inline int __clz(int v) { return v ? __builtin_clz((unsigned)v) : 32; }
static inline int __ffs(int v) { return __builtin_ffs(v); }
static inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((uint64_t)a * b >> 32); }

/* ---- The twins of dev.cuh ---- */

/* A reference to an array, so that UBSan checks every index against its bounds. */
#define SHARED(T, name, dims)                                            \
    typedef T name##_shared_type dims;                                   \
    name##_shared_type &name = *(name##_shared_type *)sim::shared_array( \
        [] {                                                             \
            static char key;                                             \
            return (const void *)&key;                                   \
        }(),                                                             \
        sizeof(name##_shared_type), alignof(T) < 16 ? 16 : alignof(T), #name, sim::here())
#define DYN_SHARED(T, name) T *const name = (T *)sim::shared_dynamic(sim::here())
#define GRID_SYNC() sim::grid_barrier(sim::here())
#define DEV_NOINLINE
#define DEV_CHECK(condition) ((condition) ? (void)0 : sim::fail(sim::here(), "DEV_CHECK(%s) does not hold", #condition))

struct dev_pool {
    unsigned taken = 0;
    template <class T> T *take(size_t count, sim::site at = sim::here())
    {
        return (T *)sim::shared_take(&taken, (count * sizeof(T) + 15) / 16 * 16, at);
    }
};

static inline void cp_async16(void *dst, const void *src, bool ok, sim::site at = sim::here())
{
    sim::async_copy(dst, src, ok, at);
}
static inline void cp_async_commit(sim::site at = sim::here()) { sim::async_commit(at); }
template <int N> static inline void cp_async_wait() { sim::async_wait(N); }

/* Each lane reads its own row here, in instrumented code: sanitizers see it. */
static inline void sim_ldmatrix(uint32_t *r, const void *row, int matrices, bool transposed, sim::site at)
{
    sim::ldmatrix_in in = {{}, row, matrices, transposed};
    if ((int)sim::self->lane < 8 * matrices) {
        sim::check_shared(row, 16, "ldmatrix row", at);
        for (int i = 0; i < 4; i++) in.row[i] = ((const uint32_t *)row)[i];
    }
    sim::collective(sim::LDMATRIX, 0xffffffffu, &in, r, at);
}
static inline void ldsm_x4(uint32_t (&r)[4], const void *row, sim::site at = sim::here())
{
    sim_ldmatrix(r, row, 4, false, at);
}
static inline void ldsm_x4_trans(uint32_t (&r)[4], const void *row, sim::site at = sim::here())
{
    sim_ldmatrix(r, row, 4, true, at);
}
static inline void ldsm_x2(uint32_t (&r)[2], const void *row, sim::site at = sim::here())
{
    sim_ldmatrix(r, row, 2, false, at);
}

template <size_t A, size_t B>
static inline void sim_mma(sim::collective_kind kind, float (&c)[4], const uint32_t (&a)[A], const uint32_t (&b)[B],
                           sim::site at)
{
    sim::mma_in in = {};
    memcpy(in.a, a, sizeof a);
    memcpy(in.b, b, sizeof b);
    memcpy(in.c, c, sizeof c);
    sim::collective(kind, 0xffffffffu, &in, c, at);
}
static inline void mma_bf16(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], sim::site at = sim::here())
{
    sim_mma(sim::MMA_BF16, c, a, b, at);
}
static inline void mma_tf32(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], sim::site at = sim::here())
{
    sim_mma(sim::MMA_TF32, c, a, b, at);
}
static inline void mma_f16(float (&c)[4], const uint32_t (&a)[2], const uint32_t (&b)[1], sim::site at = sim::here())
{
    sim_mma(sim::MMA_F16, c, a, b, at);
}
static inline void mma_fp16(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], sim::site at = sim::here())
{
    sim_mma(sim::MMA_FP16, c, a, b, at);
}
static inline uint32_t to_tf32(float x)
{
    uint32_t u = __float_as_uint(x);
    return isfinite(x) ? (u + 0x1000u) & ~0x1fffu : isnan(x) ? 0x7fffffffu & ~0x1fffu : u;
}
static inline uint32_t to_bf16x2(float low, float high)
{
    return (uint32_t)__nv_bfloat16(low).bits | (uint32_t)__nv_bfloat16(high).bits << 16;
}
static inline uint32_t to_fp16x2(float low, float high)
{
    return (uint32_t)__half(low).bits | (uint32_t)__half(high).bits << 16;
}
static inline void grid_dependency_wait(sim::site at = sim::here()) { sim::dependency_wait(at); }
static inline void grid_dependents_launch(sim::site at = sim::here()) { sim::dependents_launch(at); }
template <class T> static inline T grid_early_load(const T *p, sim::site at = sim::here())
{
    T v;
    sim::early_load(&v, p, sizeof v, at);
    return v;
}
static inline void cp_async16_early(void *dst, const void *src, bool ok, sim::site at = sim::here())
{
    sim::early_copy(dst, src, ok, at);
}

#ifdef DEV_WGMMA
#include "wgmma.h"
#endif

#ifdef DEV_RANDOM
static inline float4 dev_normal4(uint64_t seed, uint64_t subsequence, uint64_t block)
{
    float z[4];
    dg_normal4(z, seed, subsequence, block);
    return {z[0], z[1], z[2], z[3]};
}
#endif

#endif
