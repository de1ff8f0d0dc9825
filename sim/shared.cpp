/* Shared memory and asynchronous copies into it. The shared memory of a block is laid out as
 *   dynamic | red zone | array | red zone | array | red zone ...
 * and filled with 0xff (NaN as float and as bf16). ASan builds poison red zones. Every build checks them when the block
 * ends. */
#include "inside.h"

#include <sys/mman.h>

namespace sim {

/* Stores are volatile, because sanitizers intercept memset and would report it as an access of the kernel. */
static void fill(void *p, size_t n)
{
    unsigned char *c = (unsigned char *)p;
    for (; n && (uintptr_t)c % 8; n--) *(volatile unsigned char *)c++ = 0xff;
    for (; n >= 8; n -= 8, c += 8) *(volatile uint64_t *)c = ~(uint64_t)0;
    for (; n; n--) *(volatile unsigned char *)c++ = 0xff;
}

/* Maps memory for an arena, at `at` if it is not null. */
static unsigned char *map_arena(void *at, size_t bytes)
{
    void *p = mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0), -1, 0);
    if (p == MAP_FAILED) abort();
    return (unsigned char *)p;
}

void arena_begin(cuda_block *b, size_t dynamic)
{
    if (!b->arena) b->arena = map_arena(nullptr, ARENA);
    else if (tsan()) map_arena(b->arena, b->used + RED_ZONE); /* TSan forgets the accesses of the previous block */
    b->arrays.clear();
    b->arrays.reserve(64);
    b->dynamic = b->used = dynamic;
    b->pooled = 0;
    b->whole = false;
    fill(b->arena, dynamic + RED_ZONE);
    unpoison(b->arena, dynamic);
    poison(b->arena + dynamic, ARENA - dynamic);
}

static unsigned char *place(cuda_block *b, size_t bytes, size_t align, site at)
{
    size_t offset = (b->used + RED_ZONE + align - 1) / align * align;
    if (offset + bytes + RED_ZONE > ARENA) fail(at, "the simulator's arena is full: too many shared arrays");
    fill(b->arena + b->used, offset + bytes + RED_ZONE - b->used);
    unpoison(b->arena + offset, bytes);
    b->used = offset + bytes;
    return b->arena + offset;
}

void *shared_array(const void *key, size_t bytes, size_t align, const char *name, site at)
{
    cuda_block *b = static_cast<cuda_thread *>(self)->home;
    size_t total = bytes;
    for (const shared_record &r : b->arrays) {
        if (r.key == key) return r.data;
        if (r.key) total += r.bytes;
    }
    if (total > 48 * 1024) fail(at, "static shared memory: with %s %zu bytes (limit 48 KB)", name, total);
    if (total + b->dynamic > device.shared_optin)
        fail(at, "shared memory: with %s %zu bytes static and %zu dynamic (limit %zu per block)", name, total,
             b->dynamic, device.shared_optin);
    unsigned char *data = place(b, bytes, align, at);
    b->arrays.push_back({key, name, at, data, bytes});
    return data;
}

void *shared_dynamic(site at)
{
    cuda_block *b = static_cast<cuda_thread *>(self)->home;
    if (b->pooled) fail(at, "DYN_SHARED in a kernel that has taken arrays from dev_pool: they are the same memory");
    if (!b->dynamic) fail(at, "DYN_SHARED in a launch without dynamic shared memory");
    b->whole = true;
    return b->arena;
}

/* Returns the address in block `rank` of the cluster that corresponds to address `own` in the calling block. */
const void *cluster_shared(const void *own, unsigned rank, size_t bytes, site at)
{
    const cuda_block *b = static_cast<cuda_thread *>(self)->home;
    const size_t offset = (size_t)((const unsigned char *)own - b->arena);
    if (run->g->mode != CLUSTERED || rank >= run->blocks.size())
        fail(at, "shared memory of block %u of a cluster of %zu", rank,
             run->g->mode == CLUSTERED ? run->blocks.size() : (size_t)1);
    const cuda_block *other = run->blocks[rank];
    if (other->done) fail(at, "shared memory of a block of the cluster of which %d thread(s) have exited", other->done);
    if (offset + bytes > b->used || offset + bytes > other->used)
        fail(at, "%p is not shared memory that both blocks have", own);
    return other->arena + offset;
}

/* Returns array `index` in dynamic shared memory, which the first caller creates. */
void *shared_take(unsigned *index, size_t bytes, site at)
{
    cuda_block *b = static_cast<cuda_thread *>(self)->home;
    if (b->whole) fail(at, "dev_pool in a kernel that uses DYN_SHARED: they are the same memory");
    unsigned i = 0;
    for (const shared_record &r : b->arrays)
        if (!r.key && i++ == *index) {
            if (r.bytes != bytes)
                fail(at, "dev_pool: array %u has %zu bytes here and %zu at %s:%d", *index, bytes, r.bytes, r.at.file,
                     r.at.line);
            ++*index;
            return r.data;
        }
    if (b->pooled + bytes > b->dynamic)
        fail(at, "dev_pool: array %u makes %zu bytes, more than the launch's %zu", *index, b->pooled + bytes,
             b->dynamic);
    b->pooled += bytes;
    unsigned char *data = place(b, bytes, 16, at);
    b->arrays.push_back({nullptr, "dev_pool", at, data, bytes});
    ++*index;
    return data;
}

void arena_end(cuda_block *b)
{
    unpoison(b->arena, ARENA);
    if (failed()) return;
    const unsigned char *from = b->arena + b->dynamic;
    const char *name = "dynamic shared memory";
    site at = {nullptr, 0};
    for (size_t i = 0; i <= b->arrays.size(); i++) {
        const unsigned char *to = i < b->arrays.size() ? b->arrays[i].data : from + RED_ZONE;
        for (const unsigned char *p = from; p < to; p++)
            if (*p != 0xff) {
                report(at, "block (%u,%u,%u): red zone overwritten, %td bytes after the end of %s (%zu before %s)",
                       b->index.x, b->index.y, b->index.z, p - from, name, (size_t)(to - p),
                       i < b->arrays.size() ? b->arrays[i].name : "the end");
                return;
            }
        if (i == b->arrays.size()) break;
        from = b->arrays[i].data + b->arrays[i].bytes;
        name = b->arrays[i].name;
        at = b->arrays[i].at;
    }
}

void check_shared(const void *p, size_t bytes, const char *what, site at)
{
    const cuda_block *b = static_cast<cuda_thread *>(self)->home;
    const unsigned char *c = (const unsigned char *)p;
    if ((uintptr_t)p % bytes) fail(at, "%s: address %p is not %zu-byte aligned", what, p, bytes);
    if (c < b->arena || c + bytes > b->arena + ARENA) fail(at, "%s: address %p is not shared memory", what, p);
}

bool copies_unfinished(const cuda_thread *t)
{
    const async_copies *c = t->copies;
    return c && (c->group_first != c->group_end ||
                 c->end != (c->group_end ? c->last[(c->group_end - 1) % MAX_COPY_GROUPS] : 0));
}

static void copy_now(const async_copies::one &c)
{
    if (c.ok) read_early(c.dst, c.src, 16);
    for (int i = 0; i < 16 && !c.ok; i++) ((volatile char *)c.dst)[i] = 0;
    if (__tsan_write16) __tsan_write16(c.dst);
}

static async_copies *copies_of(cuda_thread *t)
{
    cuda_block *b = t->home;
    if (!t->copies) {
        if (b->copies_used == b->copies.size()) b->copies.push_back(new async_copies);
        t->copies = b->copies[b->copies_used++];
        t->copies->first = t->copies->end = t->copies->group_first = t->copies->group_end = 0;
    }
    return t->copies;
}

static void begin_copy(void *dst, const void *src, bool ok, bool early, site at)
{
    check_shared(dst, 16, "cp.async destination", at);
    if ((uintptr_t)src % 16) fail(at, "cp.async source: address %p is not 16-byte aligned", src);
    if (ok && !memory_owns(src, 16, false))
        fail(at, "cp.async source: %p is not device memory, or not 16 bytes of it", src);
    if (run->hidden && ok && !early) fail(at, "cp.async source: %p is read before grid_dependency_wait", src);
    if (asan() && ok && !run->hidden && __asan_region_is_poisoned((void *)src, 16))
        fail(at, "cp.async source: %p leaves its allocation", src);
    if (asan() && __asan_region_is_poisoned(dst, 16)) fail(at, "cp.async destination: %p leaves its shared array", dst);
    if (__tsan_write16) {
        __tsan_write16(dst);
        if (ok) __tsan_read16((void *)src);
    }
    async_copies *c = copies_of(static_cast<cuda_thread *>(self));
    if (c->end - c->first == MAX_COPIES)
        fail(at, "more than %d cp.async copies of one thread unfinished", (int)MAX_COPIES);
    c->ring[c->end++ % MAX_COPIES] = {dst, src, ok};
    if (opt.lazy) fill(dst, 16);
    else copy_now(c->ring[(c->end - 1) % MAX_COPIES]);
}

void async_copy(void *dst, const void *src, bool ok, site at) { begin_copy(dst, src, ok, false, at); }
void early_copy(void *dst, const void *src, bool ok, site at) { begin_copy(dst, src, ok, true, at); }

void async_commit(site at)
{
    async_copies *c = copies_of(static_cast<cuda_thread *>(self));
    if (c->group_end - c->group_first == MAX_COPY_GROUPS)
        fail(at, "more than %d cp.async groups unfinished", (int)MAX_COPY_GROUPS);
    c->last[c->group_end++ % MAX_COPY_GROUPS] = c->end;
}

void async_wait(unsigned left)
{
    async_copies *c = copies_of(static_cast<cuda_thread *>(self));
    while (c->group_end - c->group_first > left)
        for (unsigned last = c->last[c->group_first++ % MAX_COPY_GROUPS]; c->first != last; c->first++)
            if (opt.lazy) copy_now(c->ring[c->first % MAX_COPIES]);
}

} // namespace sim
