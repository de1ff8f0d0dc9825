/* The kernel simulator. A .cu file compiled as C++ runs its kernels on the CPU, with a fiber per CUDA thread. Misuse is
 * reported with file, line, block and thread. kernels/dev/dev.cuh includes this header unless nvcc compiles the file.
 * The simulator reports some misuses of barriers and collectives that GPUs tolerate in practice.
 *
 * The environment variable SIM (words separated by spaces or commas) or sim::opt selects the mode:
 *   forward, reverse, random   order of threads, warps and blocks; each thread runs until it must wait
 *   seed=N                     seed of the random order
 *   lazy                       the destination of cp.async has NaN until the thread waits for the copy
 *   deferred                   a stream runs its work only when an API call waits for the work
 *   uneven                     like deferred, but sometimes a random stream runs part of its work
 *   threads=N                  spreads blocks over N CPU threads
 *   small                      tests choose small shapes (always so under ThreadSanitizer)
 * More words, for whole programs (faults.cpp):
 *   sm=90 devices=1 memory=KB driver=13000   properties of the simulated device
 *   trouble=CODE               every API call fails with error CODE
 *   wait=FILE                  the device is opened only when FILE exists (or after 20 s)
 *   fail=N:CODE                the N-th API call fails with error CODE, and its name is printed to stderr
 *   calls                      prints at the end the number of API calls and of launched graphs
 *   fault=OP:N:CODE            the N-th kernel that runs for op OP ends with device error CODE
 *   refuse=OP:N:CODE           the N-th launch for op OP fails with error CODE
 * With AddressSanitizer, shared arrays have red zones, and accesses outside of device allocations are reported.
 * ThreadSanitizer treats every CUDA thread as a thread. Only barriers, __syncwarp, grid barriers and atomics order the
 * accesses of CUDA threads, so that races are found under any schedule. */
#pragma once

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
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

namespace sim {

/* Options of the simulator that tests set. */

enum thread_order { FORWARD, REVERSE, RANDOM };
struct options {
    thread_order order;
    unsigned seed;
    bool lazy, deferred, uneven, small, quiet; /* quiet: reports are stored for error(), but not printed */
    int threads;
};
extern options opt;

/* Properties of the simulated device. A test sets the properties before the tested code queries them. */
struct device_model {
    int count, major, minor, multiprocessors;
    size_t memory, shared_optin; /* bytes */
    int driver;                  /* CUDA version of the driver, such as 13000 */
    cudaError_t trouble;         /* every API call fails with this error, as with a missing or old driver */
};
extern device_model device;

const char *error(); /* the first report since clear(), or "" */
void clear();        /* clears the reports, the device's sticky error and an injected failure */

/* The k-th API call or launch from now fails with e. k = 1 is the next one. calls() counts API calls. */
void fail_call(long k, cudaError_t e);
long calls();
size_t live_allocations();
size_t live_handles(); /* streams, events, graphs */

/* A hook that is called before every launch. If the hook returns false, the launch succeeds without running. */
struct launch_view {
    const char *kernel;
    dim3 grid, block;
    size_t shared;
    bool overlapping; /* the launch may begin before the previous launch has ended */
};
extern bool (*watch)(const launch_view &);

/* Bank conflicts of ldmatrix since clear(). `reads` counts reads of 8 rows. `conflicts` counts their additional
 * cycles. */
struct ldmatrix_count {
    unsigned long reads, conflicts;
};
ldmatrix_count ldmatrix_counts();

/* Declarations for macros of this file and for dev.cuh. */

struct site {
    const char *file;
    int line;
};
/* As a default argument of a function, here() returns file and line of the function's caller. */
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
extern __thread thread_view *self; /* thread_local would cost a function call per access */

struct launch_site {
    const char *kernel, *op, *file;
    int line;
};
/* A kernel with its arguments, on the heap. The header of std::function would double the compile time of .cu files. */
struct kernel_call {
    void *what;
    void (*run)(void *), (*drop)(void *);
};
template <class F> static inline kernel_call call_of(const F &f)
{
    return {new F(f), [](void *what) { (*static_cast<F *>(what))(); },
            [](void *what) { delete static_cast<F *>(what); }};
}
/* In mode CLUSTERED, blocks with equal x and y form a cluster. */
enum launch_mode { SERIAL, COOPERATIVE, CLUSTERED };
cudaError_t launch(const launch_site &at, launch_mode mode, bool overlapping, dim3 grid, dim3 block, size_t shared,
                   cudaStream_t stream, kernel_call body);
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
    bool transposed;
};
struct mma_in {
    uint32_t a[4], b[2];
    float c[4];
};
/* An operand of wgmma. The operand is a matrix in shared memory or, if start is NULL, a fragment in registers. */
struct wgmma_matrix {
    const unsigned char *start;
    int next_k, next_mn; /* byte strides between groups of 8 values of k, and between groups of 8 rows or columns */
    bool transposed;
    uint32_t fragment[4];
};
struct wgmma_in {
    float *sums; /* accumulators d; NULL in a commit */
    int columns;
    wgmma_matrix a, b; /* operands of a wgmma; a commit has none */
};
void wgmma(collective_kind kind, const wgmma_in &in, site at);
void wgmma_publish();
void block_barrier(site at);
void grid_barrier(site at);
void cluster_barrier(site at);
const void *cluster_shared(const void *own, unsigned rank, size_t bytes, site at);
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
        fail(at, "shuffle width %d is not a power of two up to 32", width);
    return self->lane | (unsigned)(width - 1);
}
static inline unsigned vote(unsigned mask, int predicate, site at)
{
    unsigned out;
    collective(VOTE, mask, &predicate, &out, at);
    return out;
}
/* Atomics are acq_rel, because the simulator's __threadfence is empty and ThreadSanitizer sees only atomics. */
template <class T, class F> static inline T atomic(T *p, F f)
{
    T old = __atomic_load_n(p, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(p, &old, f(old), false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {}
    return old;
}
} // namespace sim

#include "language.h"
#include "twins.h"

#ifdef DEV_WGMMA
#include "wgmma.h"
#endif
