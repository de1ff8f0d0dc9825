/* Divides the blocks of a grid among CPU threads, and implements barriers. */
#include "inside.h"

#include <numeric>
#include <pthread.h>
#include <thread>

namespace sim {

char started, grid_order;

static const size_t TSAN_CONTEXTS = 1280; /* a TSan context needs nearly 1 MB, so later blocks reuse contexts */
static spinlock lock;
static std::vector<runner *> &rested = *new std::vector<runner *>;

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
        wgmma_barrier(b);
        make_block_ready(b);
        wait_as(READY, at);
    }
    acquire(order);
}

static void blocks_barrier(site at)
{
    for (const cuda_block *b : run->blocks)
        if (b->done)
            fail(at, "a barrier of several blocks after %d thread(s) of block (%u,%u,%u) have exited", b->done,
                 b->index.x, b->index.y, b->index.z);
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

void grid_barrier(site at)
{
    if (run->g->mode != COOPERATIVE) fail(at, "GRID_SYNC in a launch that is not cooperative (KLAUNCH_COOP)");
    blocks_barrier(at);
}

void cluster_barrier(site at)
{
    if (run->g->mode != CLUSTERED) fail(at, "cluster_sync in a launch without clusters (KLAUNCH_CLUSTER)");
    blocks_barrier(at);
}

void yield(site at)
{
    if (failed()) abandon();
    if (run->ready.empty()) return;
    run->ready.insert(run->ready.begin(), static_cast<cuda_thread *>(self));
    wait_as(READY, at);
}

/* Fibers with TSan contexts. Consecutive blocks use different ones, because TSan misses races between two blocks that
 * share a context. */
static std::vector<fiber *> &watched = *new std::vector<fiber *>;
static size_t next_watched;
static fiber *take_fiber(size_t at_once)
{
    while (watched.size() < std::max(at_once, std::min(TSAN_CONTEXTS, 3 * at_once)))
        watched.push_back(new_fiber(watched.size()));
    return watched[next_watched++ % watched.size()];
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
    if (tsan() || !b->order) { /* for TSan each block gets new TSan objects, so that no barrier orders two blocks */
        delete[] b->order;
        b->order = new char[2];
    }
    arena_begin(b, g->shared);
    wgmma_block_begin(b);
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
        if (tsan()) t.on = take_fiber(n * run->blocks.size());
    }
}

static void blocks_run()
{
    run->live = run->at_grid = 0;
    run->ready.clear();
    for (size_t i = run->blocks.size(); i-- > 0;) { /* the block that becomes ready last runs first */
        cuda_block *b = run->blocks[opt.order == REVERSE ? run->blocks.size() - 1 - i : i];
        make_block_ready(b);
        run->live += (int)b->threads.size();
    }
    /* Vectors are reserved before fibers run, because TSan would attribute a reallocation to the kernel. */
    run->ready.reserve((size_t)run->live + 1);
    run->fibers.reserve(run->fibers.size() + (size_t)run->live + 1);
    run->idle = run->fibers;
    run->idle.reserve((size_t)run->live + run->fibers.size() + 1);
    release(&started);
    run_ready();
    if (!failed() || !tsan()) return;
    /* Abandoned CUDA threads never return from their calls, so their TSan contexts are destroyed and replaced. */
    for (cuda_block *b : run->blocks)
        for (cuda_thread &t : b->threads) {
            __tsan_switch_to_fiber(t.on->tsan, 1);
            release(&finished[grid_turn]);
        }
    __tsan_switch_to_fiber(run->outside_tsan, 1);
    for (fiber *f : watched) free_fiber(f);
    watched.clear();
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
    static thread_local void *low;
    static thread_local size_t bytes;
    if (!low) { /* for the main thread, this reads all of /proc/self/maps */
        pthread_attr_t a;
        pthread_getattr_np(pthread_self(), &a);
        pthread_attr_getstack(&a, &low, &bytes);
        pthread_attr_destroy(&a);
    }
    run->outside_stack = low;
    run->outside_bytes = bytes;
}

void run_grid(const grid &g)
{
    uint64_t blocks = (uint64_t)g.blocks.x * g.blocks.y * g.blocks.z;
    const uint64_t at_once = g.mode == COOPERATIVE ? blocks : g.mode == CLUSTERED ? g.blocks.z : 1;
    /* Set n has the blocks n, n + sets, n + 2 * sets ...: in a cluster, these blocks have equal x and y. */
    const uint64_t sets = blocks / at_once;
    uint64_t stride = opt.order == RANDOM ? (opt.seed * 2654435761u | 1) % sets : 1;
    while (std::gcd(stride, sets) != 1) stride++;
    std::atomic<uint64_t> next(0);
    grid_turn = !grid_turn;
    acquire(&finished[grid_turn]);
    if (!g.overlapping) settle();
    auto work = [&] {
        run = take_runner();
        run->g = &g;
        find_own_stack();
        memory_watch();
        while (run->blocks.size() < at_once) run->blocks.push_back(new cuda_block);
        std::vector<cuda_block *> others(run->blocks.begin() + (ptrdiff_t)at_once, run->blocks.end());
        run->blocks.resize(at_once);
        for (uint64_t i; !failed() && (i = next++) < sets;) {
            /* each set of blocks has its own seed, so that the number of CPU threads does not change the order */
            run->random = (opt.seed + 1) * 0x9E3779B97F4A7C15u + i * 0xD1B54A32D192ED03u;
            run->random |= 1;
            const uint64_t n = (i * stride + (stride > 1 ? opt.seed : 0)) % sets;
            for (size_t k = 0; k < at_once; k++)
                block_begin(run->blocks[k], (opt.order == REVERSE ? sets - 1 - n : n) + k * sets);
            overlap_begin(i);
            blocks_run();
            overlap_end();
            for (cuda_block *b : run->blocks) {
                wgmma_block_end(b);
                arena_end(b);
            }
        }
        run->blocks.insert(run->blocks.end(), others.begin(), others.end());
        lock.lock();
        rested.push_back(run);
        lock.unlock();
        run = nullptr;
    };
    uint64_t workers = g.mode != SERIAL || g.overlapping || tsan()
                           ? 1
                           : std::min<uint64_t>(blocks, (uint64_t)std::max(opt.threads, 1));
    std::vector<std::thread> helpers;
    for (uint64_t i = 1; i < workers; i++) helpers.emplace_back(work);
    work();
    for (std::thread &t : helpers) t.join();
    if (failed()) settle();
}

} // namespace sim
