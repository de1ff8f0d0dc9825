/* The scheduler. Each CUDA thread is a fiber, which runs until it must wait. Each CPU thread runs one block after
 * another. CUDA threads that never wait run one after another on one stack. */
#include "inside.h"

#include <stdarg.h>
#include <sys/mman.h>

namespace sim {

__thread thread_view *self;
std::atomic<int> device_error;

static const size_t STACK = 128 * 1024;

__thread runner *run;

static spinlock lock; /* protects the stored report */
static std::string &first_report = *new std::string;
static std::atomic<bool> broken; /* a kernel has failed since clear() */

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
    void **sp = (void **)(stack + bytes) - 1; /* aligned as the x86-64 ABI demands after a call */
    *--sp = (void *)entry;
    for (int i = 0; i < 6; i++) *--sp = nullptr;
    c->sp = sp;
}

static void go(context *from, context *to, const void *stack, size_t bytes, void *tsan_context)
{
    void *fake = nullptr;
    if (__sanitizer_start_switch_fiber) __sanitizer_start_switch_fiber(&fake, stack, bytes);
    if (tsan_context) __tsan_switch_to_fiber(tsan_context, 1 /* 1: no synchronisation */);
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
    abort(); /* not reached: an abandoned fiber is never resumed */
}

bool stack_overflow(const void *p) { return run && run->now && (size_t)((const char *)p - run->now->stack) < 4096; }

static void fiber_main();

fiber *new_fiber(size_t number)
{
    fiber *f = new fiber();
    f->stack = (char *)mmap(nullptr, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (f->stack == MAP_FAILED || mprotect(f->stack, 4096, PROT_NONE)) {
        perror("sim: a stack");
        abort();
    }
    f->colour = number * 17 * 64 % 16384;
    if (tsan()) f->tsan = __tsan_create_fiber(0);
    return f;
}

void free_fiber(fiber *f)
{
    if (f->tsan) __tsan_destroy_fiber(f->tsan);
    munmap(f->stack, STACK);
    delete f;
}

/* Returns a fiber for a new CUDA thread. With TSan each thread has one already (take_fiber). */
static fiber *fresh_fiber(const cuda_thread *t)
{
    fiber *f;
    if (tsan()) {
        f = t->on;
    } else if (run->idle.empty()) {
        f = new_fiber(run->fibers.size());
        run->fibers.push_back(f);
    } else {
        f = run->idle.back();
        run->idle.pop_back();
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
    if (r.empty()) overlap_end();
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
void make_block_ready(cuda_block *b)
{
    size_t n = b->threads.size();
    for (size_t i = 0; i < n; i++) make_ready(&b->threads[opt.order == REVERSE ? i : n - 1 - i]);
}
void make_lanes_ready(cuda_thread *lanes, unsigned mask)
{
    for (int i = 0; i < 32; i++) {
        int lane = opt.order == REVERSE ? i : 31 - i;
        if (mask >> lane & 1) make_ready(&lanes[lane]);
    }
}

bool same(site a, site b) { return a.line == b.line && (a.file == b.file || !strcmp(a.file, b.file)); }

static const char *waits_in(const cuda_thread *t)
{
    return t->state == AT_BARRIER ? "__syncthreads"
           : t->state == AT_GRID  ? "a barrier of several blocks"
                                  : collective_name(t->kind);
}

static void report_deadlock()
{
    std::string who;
    int waiting = 0, done = 0;
    for (cuda_block *b : run->blocks) {
        done += b->done;
        for (cuda_thread &t : b->threads)
            if (t.state != DONE && waiting++ < 4)
                who += text("%s thread %u of block %u in %s at %s:%d", who.empty() ? "" : ",", t.number, b->index.x,
                            waits_in(&t), t.at.file, t.at.line);
    }
    self = nullptr;
    report({nullptr, 0}, "deadlock: %d wait, %d have exited;%s", waiting, done, who.c_str());
}

/* Switches from fiber `me` to CUDA thread `next` or, if `next` is null, back to the CPU thread. */
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
    go(&me->at, &next->on->at, next->on->stack, STACK, next->on->tsan);
}

void wait_as(thread_state state, site at)
{
    cuda_thread *t = static_cast<cuda_thread *>(self);
    t->state = state;
    t->at = at;
    switch_away(run->now, next_ready());
}

/* Reports a CUDA thread that exits while other threads of its block or warp wait for it. GPUs tolerate such exits. */
static void thread_exit(cuda_thread *t)
{
    cuda_block *b = t->home;
    if (copies_unfinished(t)) fail({nullptr, 0}, "the thread exits with pending cp.async copies");
    if (run->g->overlapping && !t->waited)
        fail({nullptr, 0},
             "the thread exits without grid_dependency_wait, which all threads of a KLAUNCH_AFTER must call");
    if (b->waiting) fail(b->at, "the thread exits while %d of its block wait in __syncthreads here", b->waiting);
    for (const warp_group &g : b->warps[t->number / 32].group)
        if (g.arrived && g.mask >> t->lane & 1)
            fail(g.at, "the thread exits while lanes %08x of its warp wait here for mask %08x", g.arrived, g.mask);
    t->state = DONE;
    b->done++;
    b->warps[t->number / 32].exited |= 1u << t->lane;
    run->live--;
    release(&finished[grid_turn]);
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
        if (next && next->state == FRESH) {
            next->on = fresh_fiber(next);
            next->state = READY;
        }
        if (!tsan()) run->idle.push_back(me);
        switch_away(me, next);
        abort(); /* not reached: an idle fiber restarts at its entry point */
    }
}

void run_ready()
{
    cuda_thread *first = next_ready();
    first->on = fresh_fiber(first);
    run->now = first->on;
    self = first;
    go(&run->outside, &first->on->at, first->on->stack, STACK, first->on->tsan);
    if (!broken) return;
    for (fiber *f : run->fibers) unpoison(f->stack + 4096, STACK - 4096); /* stacks of abandoned threads */
}

} // namespace sim
