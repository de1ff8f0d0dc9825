/* Internals of the simulator. The simulator is compiled without sanitizers, because sanitizers should check only the
 * kernels. The simulator calls functions of the sanitizers through weak symbols. */
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim.h"
#undef threadIdx
#undef blockIdx
#undef blockDim
#undef gridDim

extern "C" {
#define SIM_WEAK __attribute__((weak))
SIM_WEAK void __sanitizer_start_switch_fiber(void **, const void *, size_t);
SIM_WEAK void __sanitizer_finish_switch_fiber(void *, const void **, size_t *);
SIM_WEAK void __asan_poison_memory_region(const volatile void *, size_t);
SIM_WEAK void __asan_unpoison_memory_region(const volatile void *, size_t);
SIM_WEAK void *__asan_region_is_poisoned(void *, size_t);
SIM_WEAK void *__tsan_get_current_fiber();
SIM_WEAK void *__tsan_create_fiber(unsigned);
SIM_WEAK void __tsan_destroy_fiber(void *);
SIM_WEAK void __tsan_switch_to_fiber(void *, unsigned);
SIM_WEAK void __tsan_acquire(void *);
SIM_WEAK void __tsan_release(void *);
SIM_WEAK void __tsan_read1(void *);
SIM_WEAK void __tsan_read16(void *);
SIM_WEAK void __tsan_write16(void *);
}

namespace sim {

static inline bool tsan() { return __tsan_create_fiber != nullptr; }
static inline bool asan() { return __asan_poison_memory_region != nullptr; }
static inline void poison(const void *p, size_t n)
{
    if (asan()) __asan_poison_memory_region(p, n);
}
static inline void unpoison(const void *p, size_t n)
{
    if (asan()) __asan_unpoison_memory_region(p, n);
}
static inline void acquire(void *p)
{
    if (__tsan_acquire) __tsan_acquire(p);
}
static inline void release(void *p)
{
    if (__tsan_release) __tsan_release(p);
}

/* A lock that TSan ignores. TSan would treat a mutex as synchronisation between the CUDA threads that lock it. */
class spinlock {
    std::atomic_flag flag = ATOMIC_FLAG_INIT;

  public:
    void lock()
    {
        while (flag.test_and_set(std::memory_order_acquire)) {}
    }
    void unlock() { flag.clear(std::memory_order_release); }
};

struct context {
    void *sp;
};

struct cuda_block;
struct cuda_thread;
struct fiber {
    context at;
    char *stack;
    size_t colour; /* offset at which the stack starts; differs per fiber to avoid cache conflicts */
    void *tsan;    /* TSan's context, which remembers accesses to this stack */
};

enum { MAX_COPIES = 128, MAX_COPY_GROUPS = 8, MAX_WARPS = 32, MAX_WARP_GROUPS = 8 };
struct async_copies {
    struct one {
        void *dst;
        const void *src;
        bool ok;
    } ring[MAX_COPIES];
    unsigned first, end;             /* numbers of the thread's unfinished cp.async copies: first to end - 1 */
    unsigned group_first, group_end; /* numbers of the thread's unfinished cp.async groups */
    unsigned last[MAX_COPY_GROUPS];  /* value of `end` when the cp.async group was committed */
};

enum thread_state : unsigned char { FRESH, READY, AT_BARRIER, IN_WARP, AT_GRID, AT_DEPENDENCY, DONE };
struct cuda_thread : thread_view {
    cuda_block *home;
    fiber *on;
    unsigned number;
    thread_state state;
    bool waited; /* the thread has called grid_dependency_wait */
    collective_kind kind;
    site at; /* source line at which the CUDA thread waits */
    const void *in;
    void *out;
    async_copies *copies;
    bool published; /* the thread has called wgmma_publish since the last barrier */
};

/* The lanes that have arrived at a warp collective. `order` has two TSan objects that are used alternately, because a
 * lane may arrive at the next collective early. */
struct warp_group {
    unsigned mask, arrived, turn;
    collective_kind kind;
    site at;
    char order[2];
};
struct warp {
    warp_group group[MAX_WARP_GROUPS];
    unsigned exited;
};
struct shared_record {
    const void *key; /* identifies a SHARED array, or null for an array in dynamic shared memory */
    const char *name;
    site at;
    unsigned char *data;
    size_t bytes;
};
struct wgmma_block;
struct cuda_block : block_view {
    std::vector<cuda_thread> threads;
    std::vector<async_copies *> copies; /* one object per thread that uses cp.async, reused by later blocks */
    size_t copies_used = 0;
    int waiting = 0, done = 0;
    site at{};
    unsigned turn = 0;
    char *order = nullptr; /* two TSan objects for barriers, used alternately */
    warp warps[MAX_WARPS];
    unsigned char *arena = nullptr;
    size_t dynamic = 0, used = 0; /* dynamic: the launch's bytes of dynamic shared memory */
    size_t pooled = 0;
    bool whole = false; /* the kernel has used DYN_SHARED */
    std::vector<shared_record> arrays;
    wgmma_block *wgmma = nullptr; /* created by the first wgmma, reused by later blocks */
    bool publishes = false, published = false;
    uint64_t contents = 0; /* hash of shared memory at the last barrier */
};

struct grid {
    std::string kernel, op, file;
    int line;
    launch_mode mode;
    bool overlapping;
    dim3 blocks, threads;
    size_t shared;
    std::function<void()> body;
};

/* State of a CPU thread that runs blocks. Later launches reuse the state, because creating stacks is slow. */
struct runner {
    const grid *g;
    std::vector<cuda_block *> blocks; /* concurrent blocks: a cooperative launch, a cluster, or one block */
    std::vector<cuda_thread *> ready; /* CUDA threads that can run; the last element runs next */
    std::vector<fiber *> fibers, idle;
    fiber *now;
    context outside;
    const void *outside_stack;
    size_t outside_bytes;
    void *outside_tsan;
    int live, at_grid;
    bool hidden; /* device memory is inaccessible until all threads wait for the previous launch */
    uint64_t random;
};
extern __thread runner *run;

/* Makes the block's CUDA threads runnable, in the order of opt.order. wait_as() runs other CUDA threads until the
 * caller can continue. */
void make_block_ready(cuda_block *b);
void make_lanes_ready(cuda_thread *lanes, unsigned mask);
void wait_as(thread_state state, site at);
void run_ready(); /* runs CUDA threads until all have exited or one was abandoned */
bool same(site a, site b);

/* Prints a report "sim: op: kernel (file:line), block, thread: message" and stores the first report. */
void report(site at, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool failed();
void forget_report();
fiber *new_fiber(size_t number);
void free_fiber(fiber *f);
[[noreturn]] void abandon(); /* ends the calling fiber and its launch */
bool stack_overflow(const void *p);
extern std::atomic<int> device_error; /* sticky cudaError_t */

void run_grid(const grid &g);
extern char started, grid_order; /* TSan objects for the start of a launch and for barriers of several blocks */

/* Two TSan objects, used by launches alternately; grid_turn is the index of the current launch's object. A CUDA thread
 * releases its launch's object when it ends. settle() acquires both objects before host code runs. */
extern char finished[2];
extern int grid_turn;
void settle();
extern std::vector<std::function<void()>> &spent; /* kernels that have run since the last settle() */
void overlap_begin(uint64_t block);               /* block: index in the order in which blocks run */
void overlap_end(); /* wakes the waiting CUDA threads; also called if no other thread can run */
/* Reads device memory, also before grid_dependency_wait(). */
void read_early(void *to, const void *from, size_t bytes);

const char *collective_name(collective_kind kind);
void forget_ldmatrix();

void wgmma_compute(collective_kind kind, cuda_thread *lanes, site at);
void wgmma_loaded(const cuda_thread *t);
void wgmma_barrier(cuda_block *b); /* called when all threads of the block have arrived at a barrier */
void wgmma_block_begin(cuda_block *b);
void wgmma_block_end(const cuda_block *b);

enum { ARENA = 640 * 1024, RED_ZONE = 64 }; /* ARENA: bytes for a block's shared arrays with red zones */
void arena_begin(cuda_block *b, size_t dynamic);
void arena_end(cuda_block *b);
bool copies_unfinished(const cuda_thread *t);

void *memory_alloc(size_t bytes, bool host);
bool memory_free(void *p, bool host);
bool memory_owns(const void *p, size_t bytes, bool host); /* true if one live allocation contains all bytes */
bool memory_any(const void *p);                           /* true if p is in a live allocation */
bool memory_freed(const void *p);
bool memory_live(void *p, bool host); /* true if memory_alloc returned p, and p was not freed */
void memory_open();                   /* makes device memory accessible until memory_close */
void memory_close();
void memory_hide(bool hidden); /* makes device memory inaccessible to a running kernel */
void memory_watch();           /* installs the signal handler that explains memory faults of the calling CPU thread */
size_t memory_used();

} // namespace sim
