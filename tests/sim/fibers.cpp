/* The scheduler: a fiber for every CUDA thread, blocks one after another on each CPU thread. A CUDA thread runs
 * until it must wait; those that never wait follow each other on one stack. */
#include "inside.h"

#include <numeric>
#include <pthread.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <thread>

namespace sim {

__thread thread_view *self;
std::atomic<int> device_error;

static const size_t STACK = 128 * 1024;
static const size_t TSAN_STACK = 32 * 1024;   /* of which this much is forgotten before another thread takes it */
static const size_t TSAN_CONTEXTS = 1280;     /* nearly 1 MB each, so they are used again, in turn */

/* What one CPU thread needs to run blocks; kept from launch to launch, for stacks are dear. */
struct runner {
    const grid *g;
    std::vector<cuda_block *> blocks; /* all at once in a cooperative launch, else one */
    std::vector<cuda_thread *> ready; /* the last one runs next */
    std::vector<fiber *> fibers, idle;
    fiber *now;
    context outside;
    const void *outside_stack;
    size_t outside_bytes;
    void *outside_tsan;
    int live, at_grid;
    uint64_t random;
};
static __thread runner *run;

static spinlock lock;             /* of the three below */
static std::string &first_report = *new std::string;
static std::vector<runner *> &rested = *new std::vector<runner *>;
static std::atomic<bool> broken;  /* a kernel failed since clear() */
static char started, finished, grid_order; /* TSan: before all threads, after all threads, grid barriers */

/* ---- Reports ---- */

const grid *running() { return run ? run->g : nullptr; }
bool failed() { return broken; }
const char *error() { return first_report.c_str(); }
void forget_report()
{
    first_report.clear();
    broken = false;
}

static std::string vtext(const char *format, va_list ap)
{
    char text[1024];
    vsnprintf(text, sizeof text, format, ap);
    return text;
}
static std::string text(const char *format, ...) __attribute__((format(printf, 1, 2)));
static std::string text(const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    std::string s = vtext(format, ap);
    va_end(ap);
    return s;
}

static void vreport(site at, const char *format, va_list ap)
{
    std::string s = "sim: ";
    if (run) {
        const grid *g = run->g;
        if (!g->op.empty()) s += g->op + ": ";
        s += text("%s launched at %s:%d: ", g->kernel.c_str(), g->file.c_str(), g->line);
    }
    if (at.file) s += text("%s:%d: ", at.file, at.line);
    s += vtext(format, ap);
    if (self)
        s += text(" [block (%u,%u,%u) thread (%u,%u,%u)]", self->block->index.x, self->block->index.y,
                  self->block->index.z, self->index.x, self->index.y, self->index.z);
    lock.lock();
    bool first = first_report.empty();
    if (first) first_report = s;
    lock.unlock();
    if (first && !opt.quiet) fprintf(stderr, "%s\n", s.c_str());
    if (run) broken = true;
    int none = 0;
    device_error.compare_exchange_strong(none, cudaErrorLaunchFailure);
}

void report(site at, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    vreport(at, format, ap);
    va_end(ap);
}

void fail(site at, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    vreport(at, format, ap);
    va_end(ap);
    abandon();
}

/* ---- Switching ---- */

#if defined(__x86_64__) && !defined(SIM_UCONTEXT)
extern "C" void sim_switch(void **save, void *to);
asm(R"(.text
.type sim_switch,@function
sim_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
.size sim_switch,.-sim_switch)");
static void context_switch(context *from, context *to) { sim_switch(&from->sp, to->sp); }
static void context_make(context *c, char *stack, size_t bytes, void (*entry)())
{
    void **sp = (void **)(stack + bytes) - 1; /* as after a call: the stack pointer is 8 off a multiple of 16 */
    *--sp = (void *)entry;
    for (int i = 0; i < 6; i++) *--sp = nullptr;
    c->sp = sp;
}
#else
static void context_switch(context *from, context *to) { swapcontext(&from->state, &to->state); }
static void context_make(context *c, char *stack, size_t bytes, void (*entry)())
{
    getcontext(&c->state);
    c->state.uc_stack.ss_sp = stack;
    c->state.uc_stack.ss_size = bytes;
    c->state.uc_link = nullptr;
    makecontext(&c->state, entry, 0);
}
#endif

static void go(context *from, context *to, const void *stack, size_t bytes, void *tsan_context)
{
    void *fake = nullptr;
    if (__sanitizer_start_switch_fiber) __sanitizer_start_switch_fiber(&fake, stack, bytes);
    if (tsan_context) __tsan_switch_to_fiber(tsan_context, 1 /* without synchronisation */);
    context_switch(from, to);
    if (__sanitizer_finish_switch_fiber) __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
}

static void leave()
{
    fiber *f = run->now;
    run->now = nullptr;
    self = nullptr;
    go(&f->at, &run->outside, run->outside_stack, run->outside_bytes, run->outside_tsan);
}

void abandon()
{
    leave();
    abort(); /* nobody comes back to an abandoned thread */
}

bool stack_overflow(const void *p)
{
    return run && run->now && (size_t)((const char *)p - run->now->stack) < 4096;
}

static void fiber_main();

/* A fiber for a thread to start on. TSan remembers who used a stack before: new pages, made in the name of the
 * new thread, replace that. */
static fiber *fresh_fiber(const cuda_thread *t)
{
    fiber *f;
    if (run->idle.empty()) {
        f = new fiber();
        f->stack = (char *)mmap(nullptr, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (f->stack == MAP_FAILED || mprotect(f->stack, 4096, PROT_NONE)) {
            perror("sim: a stack");
            abort();
        }
        f->colour = run->fibers.size() * 17 * 64 % 16384;
        run->fibers.push_back(f);
    } else {
        f = run->idle.back();
        run->idle.pop_back();
        if (tsan()) {
            void *me = __tsan_get_current_fiber();
            __tsan_switch_to_fiber(t->tsan, 1);
            mmap(f->stack + STACK - TSAN_STACK, TSAN_STACK, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
            __tsan_switch_to_fiber(me, 1);
        }
    }
    context_make(&f->at, f->stack, STACK - f->colour, fiber_main);
    return f;
}

static uint64_t next_random()
{
    run->random ^= run->random << 13;
    run->random ^= run->random >> 7;
    run->random ^= run->random << 17;
    return run->random;
}

static cuda_thread *next_ready()
{
    std::vector<cuda_thread *> &r = run->ready;
    if (r.empty()) return nullptr;
    if (opt.order == RANDOM) std::swap(r[next_random() % r.size()], r.back());
    cuda_thread *t = r.back();
    r.pop_back();
    return t;
}

static void make_ready(cuda_thread *t)
{
    if (t->state != FRESH) t->state = READY;
    run->ready.push_back(t);
}
static void make_block_ready(cuda_block *b)
{
    size_t n = b->threads.size();
    for (size_t i = 0; i < n; i++) make_ready(&b->threads[opt.order == REVERSE ? i : n - 1 - i]);
}
static void make_lanes_ready(cuda_thread *lanes, unsigned mask)
{
    for (int i = 0; i < 32; i++) {
        int lane = opt.order == REVERSE ? i : 31 - i;
        if (mask >> lane & 1) make_ready(&lanes[lane]);
    }
}

static const char *waits_in(const cuda_thread *t)
{
    static const char *const name[] = {"__syncwarp", "a shuffle", "a vote", "ldmatrix", "mma_bf16", "mma_tf32", "mma_f16"};
    if (t->state == AT_BARRIER) return "__syncthreads";
    if (t->state == AT_GRID) return "a grid barrier";
    return name[t->kind];
}

static void report_deadlock()
{
    std::string who;
    int waiting = 0, done = 0;
    for (cuda_block *b : run->blocks) {
        done += b->done;
        for (cuda_thread &t : b->threads)
            if (t.state != DONE && waiting++ < 4)
                who += text("%s thread %u of block %u in %s at %s:%d", who.empty() ? "" : ",", t.number,
                            b->index.x, waits_in(&t), t.at.file, t.at.line);
    }
    self = nullptr;
    report({nullptr, 0}, "deadlock: %d wait, %d have exited;%s", waiting, done, who.c_str());
}

/* To the next thread that can run, from fiber `me`, or out when all are done or stuck. */
static void switch_away(fiber *me, cuda_thread *next)
{
    if (!next) {
        if (run->live) report_deadlock();
        leave();
        return;
    }
    if (next->state == FRESH) next->on = fresh_fiber(next);
    self = next;
    if (next->on == me) return;
    run->now = next->on;
    go(&me->at, &next->on->at, next->on->stack, STACK, next->tsan);
}

static void wait_as(thread_state state, site at)
{
    cuda_thread *t = static_cast<cuda_thread *>(self);
    t->state = state;
    t->at = at;
    switch_away(run->now, next_ready());
}

/* Strict: a thread may not exit while others of its block or its warp wait for it. */
static void thread_exit(cuda_thread *t)
{
    cuda_block *b = t->home;
    if (copies_unfinished(t)) fail({nullptr, 0}, "the thread exits with cp.async copies that it never waited for");
    if (b->waiting)
        fail(b->at, "the thread exits while %d of its block wait in __syncthreads here", b->waiting);
    for (const warp_group &g : b->warps[t->number / 32].group)
        if (g.arrived && g.mask >> t->lane & 1)
            fail(g.at, "the thread exits while lanes %08x of its warp wait here for mask %08x", g.arrived, g.mask);
    t->state = DONE;
    b->done++;
    b->warps[t->number / 32].exited |= 1u << t->lane;
    run->live--;
    release(&finished);
}

static void fiber_main()
{
    if (__sanitizer_finish_switch_fiber) __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
    for (;;) {
        cuda_thread *t = static_cast<cuda_thread *>(self);
        t->state = READY;
        acquire(&started);
        run->g->body();
        thread_exit(t);
        fiber *me = run->now;
        cuda_thread *next = next_ready();
        if (next && next->state == FRESH && !tsan()) {
            next->on = me;
            self = next;
            continue;
        }
        if (next && next->state == FRESH) { /* TSan: not on this stack, which is still in use */
            next->on = fresh_fiber(next);
            next->state = READY;
        }
        run->idle.push_back(me);
        switch_away(me, next);
        abort(); /* an idle fiber starts again from its beginning */
    }
}

/* ---- Barriers ---- */

static bool same(site a, site b) { return a.line == b.line && (a.file == b.file || !strcmp(a.file, b.file)); }

void block_barrier(site at)
{
    cuda_thread *t = static_cast<cuda_thread *>(self);
    cuda_block *b = t->home;
    if (b->done) fail(at, "__syncthreads after %d thread(s) of the block have exited", b->done);
    if (!b->waiting) b->at = at;
    if (!same(b->at, at))
        fail(at, "divergent __syncthreads: %d thread(s) wait at %s:%d", b->waiting, b->at.file, b->at.line);
    char *order = &b->order[b->turn & 1];
    release(order);
    if (++b->waiting < (int)b->threads.size()) {
        wait_as(AT_BARRIER, at);
    } else {
        b->waiting = 0;
        b->turn++;
        make_block_ready(b);
        wait_as(READY, at);
    }
    acquire(order);
}

void grid_barrier(site at)
{
    if (!run->g->cooperative) fail(at, "GRID_SYNC in a launch that is not cooperative (KLAUNCH_COOP)");
    release(&grid_order);
    if (++run->at_grid < (int)(run->blocks.size() * run->blocks[0]->threads.size())) {
        wait_as(AT_GRID, at);
    } else {
        run->at_grid = 0;
        for (size_t i = 0; i < run->blocks.size(); i++)
            make_block_ready(run->blocks[opt.order == REVERSE ? i : run->blocks.size() - 1 - i]);
        wait_as(READY, at);
    }
    acquire(&grid_order);
}

void yield(site at)
{
    if (run->ready.empty()) return;
    run->ready.insert(run->ready.begin(), static_cast<cuda_thread *>(self));
    wait_as(READY, at);
}

/* ---- Warp collectives: every lane brings its operands, the last to arrive computes for all (warp.cpp) ---- */

void warp_compute(collective_kind kind, cuda_thread *lanes, unsigned mask, site at);

void collective(collective_kind kind, unsigned mask, const void *in, void *out, site at)
{
    cuda_thread *t = static_cast<cuda_thread *>(self);
    cuda_block *b = t->home;
    warp &w = b->warps[t->number / 32];
    cuda_thread *lanes = &b->threads[t->number - t->lane];
    unsigned there = (unsigned)b->threads.size() - (t->number - t->lane);
    t->kind = kind;
    t->state = IN_WARP;
    const char *name = waits_in(t);
    if (!(mask >> t->lane & 1)) fail(at, "%s: the calling lane %u is not in mask %08x", name, t->lane, mask);
    if (there < 32 && mask >> there)
        fail(at, "%s: mask %08x names lanes that do not exist, the warp has %u", name, mask, there);
    if (mask & w.exited) fail(at, "%s: mask %08x names lanes that have exited: %08x", name, mask, mask & w.exited);
    warp_group *g = nullptr, *unused = nullptr;
    for (warp_group &x : w.group) {
        if (!x.arrived) unused = unused ? unused : &x;
        else if (x.mask == mask && x.kind == kind && same(x.at, at)) g = &x;
        else if (x.mask >> t->lane & 1 && x.arrived & mask) /* each waits for the other */
            fail(at, "diverged warp: %s with mask %08x, while lanes %08x wait at %s:%d with mask %08x", name, mask,
                 x.arrived, x.at.file, x.at.line, x.mask);
    }
    if (!g) {
        if (!unused) fail(at, "more than %d groups of one warp wait at once", (int)MAX_WARP_GROUPS);
        g = unused;
        g->mask = mask;
        g->kind = kind;
        g->at = at;
    }
    t->in = in;
    t->out = out;
    g->arrived |= 1u << t->lane;
    char *order = &g->order[g->turn & 1];
    if (kind == SYNCWARP) release(order); /* the others move registers and order no memory */
    if (g->arrived != mask) {
        wait_as(IN_WARP, at);
    } else {
        g->arrived = 0;
        g->turn++;
        warp_compute(kind, lanes, mask, at);
        make_lanes_ready(lanes, mask);
        wait_as(READY, at);
    }
    if (kind == SYNCWARP) acquire(order);
}

/* ---- Running a grid ---- */

/* Contexts of TSan in turn, so that blocks that follow each other have different ones: accesses of one context
 * are in order for TSan, and races between them would be missed. */
static std::vector<void *> &contexts = *new std::vector<void *>;
static size_t next_context;
static void *tsan_context(size_t at_once)
{
    if (contexts.size() < std::max(at_once, std::min(TSAN_CONTEXTS, 3 * at_once))) {
        contexts.push_back(__tsan_create_fiber(0));
        return contexts.back();
    }
    return contexts[next_context++ % contexts.size()];
}

static void block_begin(cuda_block *b, uint64_t index)
{
    const grid *g = run->g;
    b->index = {(unsigned)(index % g->blocks.x), (unsigned)(index / g->blocks.x % g->blocks.y),
                (unsigned)(index / g->blocks.x / g->blocks.y)};
    b->block = g->threads;
    b->grid = g->blocks;
    b->waiting = b->done = 0;
    memset(b->warps, 0, sizeof b->warps);
    arena_begin(b, g->shared);
    b->copies_used = 0;
    b->copies.reserve(1024);
    size_t n = (size_t)g->threads.x * g->threads.y * g->threads.z;
    b->threads.assign(n, cuda_thread());
    for (size_t i = 0; i < n; i++) {
        cuda_thread &t = b->threads[i];
        t.index = {(unsigned)(i % g->threads.x), (unsigned)(i / g->threads.x % g->threads.y),
                   (unsigned)(i / g->threads.x / g->threads.y)};
        t.number = (unsigned)i;
        t.lane = (unsigned)i % 32;
        t.block = t.home = b;
        if (tsan()) t.tsan = tsan_context(n * run->blocks.size());
    }
}

static void blocks_run()
{
    run->live = run->at_grid = 0;
    run->ready.clear();
    for (size_t i = run->blocks.size(); i-- > 0;) { /* the last one made ready runs first */
        cuda_block *b = run->blocks[opt.order == REVERSE ? run->blocks.size() - 1 - i : i];
        make_block_ready(b);
        run->live += (int)b->threads.size();
    }
    /* No vector may grow while fibers run: TSan would take the move for an access of the kernel. */
    run->ready.reserve((size_t)run->live + 1);
    run->fibers.reserve(run->fibers.size() + (size_t)run->live + 1);
    run->idle = run->fibers;
    run->idle.reserve((size_t)run->live + run->fibers.size() + 1);
    release(&started);
    cuda_thread *first = next_ready();
    first->on = fresh_fiber(first);
    run->now = first->on;
    self = first;
    go(&run->outside, &first->on->at, first->on->stack, STACK, first->tsan);
    if (!broken) return;
    /* Threads were abandoned somewhere in their kernels: their frames are poisoned, TSan thinks them in calls. */
    for (fiber *f : run->fibers) unpoison(f->stack + 4096, STACK - 4096);
    if (!tsan()) return;
    for (cuda_block *b : run->blocks)
        for (cuda_thread &t : b->threads) {
            __tsan_switch_to_fiber(t.tsan, 1);
            release(&finished);
        }
    __tsan_switch_to_fiber(run->outside_tsan, 1);
    for (void *c : contexts) __tsan_destroy_fiber(c);
    contexts.clear();
}

static runner *take_runner()
{
    lock.lock();
    runner *r = rested.empty() ? nullptr : rested.back();
    if (r) rested.pop_back();
    lock.unlock();
    return r ? r : new runner();
}

static void find_own_stack()
{
    run->outside_tsan = tsan() ? __tsan_get_current_fiber() : nullptr;
    if (!asan()) return;
    pthread_attr_t a;
    void *low;
    pthread_getattr_np(pthread_self(), &a);
    pthread_attr_getstack(&a, &low, &run->outside_bytes);
    pthread_attr_destroy(&a);
    run->outside_stack = low;
}

void run_grid(const grid &g)
{
    uint64_t blocks = (uint64_t)g.blocks.x * g.blocks.y * g.blocks.z;
    uint64_t stride = opt.order == RANDOM ? (opt.seed * 2654435761u | 1) % blocks : 1; /* blocks in a random order */
    while (std::gcd(stride, blocks) != 1) stride++;
    std::atomic<uint64_t> next(0);
    auto work = [&] {
        run = take_runner();
        run->g = &g;
        find_own_stack();
        memory_watch();
        size_t at_once = g.cooperative ? blocks : 1;
        while (run->blocks.size() < at_once) run->blocks.push_back(new cuda_block);
        std::vector<cuda_block *> others(run->blocks.begin() + (ptrdiff_t)at_once, run->blocks.end());
        run->blocks.resize(at_once);
        for (uint64_t i; !broken && (i = next.fetch_add(at_once)) < blocks;) {
            run->random = (opt.seed + 1) * 0x9E3779B97F4A7C15u + i * 0xD1B54A32D192ED03u; /* per block, for any threads= */
            run->random |= 1;
            for (size_t k = 0; k < at_once; k++) {
                uint64_t n = ((i + k) * stride + (stride > 1 ? opt.seed : 0)) % blocks;
                block_begin(run->blocks[k], opt.order == REVERSE && !g.cooperative ? blocks - 1 - n : n);
            }
            blocks_run();
            for (cuda_block *b : run->blocks) arena_end(b);
        }
        acquire(&finished); /* only now: blocks are not ordered, and their races are to be seen */
        run->blocks.insert(run->blocks.end(), others.begin(), others.end());
        lock.lock();
        rested.push_back(run);
        lock.unlock();
        run = nullptr;
    };
    uint64_t workers = g.cooperative || tsan() ? 1 : std::min<uint64_t>(blocks, (uint64_t)std::max(opt.threads, 1));
    std::vector<std::thread> helpers;
    for (uint64_t i = 1; i < workers; i++) helpers.emplace_back(work);
    work();
    for (std::thread &t : helpers) t.join();
}

} // namespace sim
