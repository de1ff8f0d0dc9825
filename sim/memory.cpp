/* Device and pinned host memory. Every allocation has its own pages between two guard areas. It ends as close to the
 * second guard area as 256-byte alignment allows. New memory is filled with NaN by private mappings of a file of bytes
 * 0xff, so that untouched pages cost nothing. Device memory is accessible only while a kernel or a copy runs. The
 * first access faults (SIGSEGV in a debugger), and the fault handler maps the allocation. Freed memory stays
 * unmapped. */
#include "inside.h"

#include <errno.h>
#include <map>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

namespace sim {

struct allocation {
    size_t bytes, pages; /* pages: total bytes of the pages between the guard areas */
    bool host, freed;
    bool open;
    char *base; /* start of the first guard area */
    char *data;
};
static const size_t PAGE = 4096, ALIGN = 256, GUARD = 1 << 20; /* wrong row or image indices hit a guard area */
static const size_t FILE_MOST = 64 << 20;                      /* max size of the file of bytes 0xff */
static std::map<uintptr_t, allocation> &all =
    *new std::map<uintptr_t, allocation>; /* a key is the end of the second guard area */
static std::vector<allocation *> &guarded = *new std::vector<allocation *>; /* live device memory */
static spinlock lock;
static int open_count;
static bool hidden;
static size_t used, count;

static allocation *find(const void *p) /* returns the allocation whose pages or guard areas contain p */
{
    auto i = all.upper_bound((uintptr_t)p);
    return i != all.end() && (uintptr_t)p >= (uintptr_t)i->second.base ? &i->second : nullptr;
}

[[noreturn]] static void stop(const char *call)
{
    fprintf(stderr, "sim: %s: %s\n", call, strerror(errno));
    abort();
}

static void protect(allocation &a, bool reachable)
{
    a.open = reachable;
    if (mprotect(a.base + GUARD, a.pages, reachable ? PROT_READ | PROT_WRITE : PROT_NONE)) stop("mprotect");
}

/* Makes the data of an allocation accessible or inaccessible to host code. AddressSanitizer checks instrumented host
 * code by a shadow of an eighth of the bytes. Up to 1 MiB, poisoning it is faster than changing the protection. */
static void reach(allocation &a, bool reachable)
{
    if (!asan() || a.bytes > 1 << 20) return protect(a, reachable);
    a.open = reachable;
    reachable ? unpoison(a.data, a.bytes) : poison(a.data, a.bytes);
}

/* Maps a file of bytes 0xff, which grows with the largest request up to FILE_MOST, over the pages. The caller holds the
 * lock. */
static bool map_filled(char *pages, size_t bytes)
{
    static int file = memfd_create("sim-filled", MFD_CLOEXEC);
    static size_t filled;
    static const std::vector<char> block(1 << 20, (char)0xff);
    for (; filled < bytes && filled < FILE_MOST; filled += block.size())
        if (pwrite(file, block.data(), block.size(), (off_t)filled) != (ssize_t)block.size()) return false;
    for (size_t done = 0; done < bytes; done += FILE_MOST)
        if (mmap(pages + done, std::min(bytes - done, FILE_MOST), PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, file, 0) == MAP_FAILED)
            return false;
    return true;
}

void *memory_alloc(size_t bytes, bool host)
{
    size_t aligned = (bytes + ALIGN - 1) / ALIGN * ALIGN, pages = (aligned + PAGE - 1) / PAGE * PAGE;
    void *m = mmap(nullptr, pages + 2 * GUARD, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (m == MAP_FAILED) return nullptr;
    char *base = (char *)m;
    allocation a = {bytes, pages, host, false, false, base, base + GUARD + pages - aligned};
    lock.lock();
    a.open = map_filled(base + GUARD, pages);
    if (!a.open) {
        lock.unlock();
        munmap(base, pages + 2 * GUARD);
        return nullptr;
    }
    poison(base + GUARD, (size_t)(a.data - base) - GUARD);
    poison(a.data + bytes, aligned - bytes);
    if (!host && !open_count && !tsan()) reach(a, false);
    allocation *kept = &(all[(uintptr_t)base + pages + 2 * GUARD] = a);
    if (!host) guarded.push_back(kept);
    used += host ? 0 : bytes;
    count++;
    lock.unlock();
    return a.data;
}

bool memory_live(void *p, bool host)
{
    lock.lock();
    const allocation *a = find(p);
    bool live = a && a->data == p && !a->freed && a->host == host;
    lock.unlock();
    return live;
}

/* Reports changed bytes in the padding before and after an allocation's data. */
static void check_untouched(const allocation &a, const char *from, const char *to)
{
    for (const char *c = from; c < to; c++)
        if (*c != (char)0xff)
            return report({nullptr, 0}, "written outside an allocation of %zu bytes, at byte %td", a.bytes, c - a.data);
}

bool memory_free(void *p, bool host)
{
    if (!memory_live(p, host)) return false;
    lock.lock();
    allocation *a = find(p);
    protect(*a, true);
    unpoison(a->base + GUARD, a->pages);
    check_untouched(*a, a->base + GUARD, a->data);
    check_untouched(*a, a->data + a->bytes, a->base + GUARD + a->pages);
    a->freed = true;
    if (!host) std::erase(guarded, a);
    /* anonymous, so that it forms one mapping with the guard areas: Linux allows 65,530 mappings */
    if (mmap(a->base + GUARD, a->pages, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) ==
        MAP_FAILED)
        stop("mmap");
    a->open = false;
    poison(a->base + GUARD, a->pages);
    used -= a->host ? 0 : a->bytes;
    count--;
    lock.unlock();
    return true;
}

bool memory_owns(const void *p, size_t bytes, bool host)
{
    lock.lock();
    const allocation *a = find(p);
    const char *c = (const char *)p;
    bool owns = a && !a->freed && a->host == host && c >= a->data && c + bytes <= a->data + a->bytes;
    lock.unlock();
    return owns;
}

bool memory_any(const void *p)
{
    lock.lock();
    const allocation *a = find(p);
    bool any = a && !a->freed && (const char *)p >= a->data && (const char *)p <= a->data + a->bytes;
    lock.unlock();
    return any;
}

bool memory_freed(const void *p)
{
    lock.lock();
    const allocation *a = find(p);
    bool freed = a && a->freed;
    lock.unlock();
    return freed;
}

size_t memory_used() { return used; }
size_t live_allocations() { return count; }

/* Makes all device memory accessible or inaccessible. ThreadSanitizer builds keep all memory accessible. Without
 * sanitizers, the first access of a kernel to an allocation makes it accessible (map_on_use). */
static void reach_all(bool reachable)
{
    if (tsan() || (reachable && !asan())) return;
    for (allocation *a : guarded)
        if (a->open != reachable) reach(*a, reachable);
}
void memory_open()
{
    memory_watch();
    lock.lock();
    if (!open_count++) reach_all(true);
    lock.unlock();
}
void memory_close()
{
    lock.lock();
    if (!--open_count) reach_all(false);
    lock.unlock();
}

void memory_hide(bool hide)
{
    lock.lock();
    hidden = hide;
    for (allocation *a : guarded)
        if (asan() && hide) poison(a->data, a->bytes);
        else if (asan()) unpoison(a->data, a->bytes);
        else if (tsan() || (hide && a->open)) protect(*a, !hide);
    lock.unlock();
}

static bool map_on_use(const char *p)
{
    lock.lock();
    allocation *a = open_count && !hidden ? find(p) : nullptr;
    const bool may = a && !a->freed && !a->host && p >= a->base + GUARD && p < a->base + GUARD + a->pages;
    if (may && !a->open) protect(*a, true);
    lock.unlock();
    return may;
}

/* Handles memory faults. The first access to an allocation maps it. Another fault in a kernel ends the launch with a
 * report. A fault in host code ends the program with an explanation. */

static std::string explain(const void *p)
{
    char text[200] = "no allocation nearby";
    const allocation *a = find(p);
    const char *c = (const char *)p;
    if (stack_overflow(p)) return "the thread's stack is used up";
    if ((uintptr_t)p < PAGE) return "a null pointer";
    if (!a) return text;
    const char *kind = a->host ? "pinned" : "device";
    if (a->freed)
        snprintf(text, sizeof text, "byte %td of %zu bytes of %s memory that were freed", c - a->data, a->bytes, kind);
    else if (c < a->data)
        snprintf(text, sizeof text, "%td bytes before an allocation of %zu bytes of %s memory", a->data - c, a->bytes,
                 kind);
    else if (c >= a->data + a->bytes)
        snprintf(text, sizeof text, "%td bytes past the end of an allocation of %zu bytes of %s memory",
                 c - a->data - (ptrdiff_t)a->bytes, a->bytes, kind);
    else if (self)
        snprintf(text, sizeof text, "byte %td of %zu bytes of %s memory before grid_dependency_wait", c - a->data,
                 a->bytes, kind);
    else snprintf(text, sizeof text, "host code uses byte %td of %zu bytes of %s memory", c - a->data, a->bytes, kind);
    return text;
}

static void on_fault(int signal, siginfo_t *info, void *)
{
    if (map_on_use((const char *)info->si_addr)) return;
    std::string why = explain(info->si_addr);
    if (self) {
        device_error = cudaErrorIllegalAddress;
        report({nullptr, 0}, "illegal address %p: %s", info->si_addr, why.c_str());
        abandon();
    }
    fprintf(stderr, "sim: illegal address %p: %s\n", info->si_addr, why.c_str());
    ::signal(signal, SIG_DFL); /* the instruction faults again, which ends the program */
}

void memory_watch()
{
    static __thread char *stack;
    if (asan() || tsan() || stack) return;
    stack = (char *)mmap(nullptr, 64 * 1024, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    stack_t alternate = {};
    alternate.ss_sp = stack;
    alternate.ss_size = 64 * 1024;
    sigaltstack(&alternate, nullptr);
    struct sigaction action = {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigaction(SIGSEGV, &action, nullptr);
    sigaction(SIGBUS, &action, nullptr);
}

} // namespace sim
