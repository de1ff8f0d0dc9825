/* Launches that may begin before the previous launch has ended (KLAUNCH_AFTER on sm_90 and up). The simulator runs
 * launches one after another. ThreadSanitizer treats accesses before grid_dependency_wait() as concurrent with the
 * previous launch. Without ThreadSanitizer, device memory is unmapped until all threads of the first blocks wait. Only
 * grid_early_load and cp_async16_early can read unmapped device memory. */
#include "inside.h"

#include <fcntl.h>
#include <unistd.h>

namespace sim {

char finished[2];
int grid_turn;
static const uint64_t BLOCKS = 8;

std::vector<std::function<void()>> &spent = *new std::vector<std::function<void()>>;

void settle()
{
    acquire(&finished[0]);
    acquire(&finished[1]);
    spent.clear();
}

void overlap_begin(uint64_t block)
{
    run->hidden = run->g->overlapping && !tsan() && block < BLOCKS;
    if (run->hidden) memory_hide(true);
}

void overlap_end()
{
    if (!run->hidden) return;
    run->hidden = false;
    memory_hide(false);
    for (cuda_block *b : run->blocks)
        for (size_t n = b->threads.size(), i = n; i-- > 0;) {
            cuda_thread &t = b->threads[opt.order == REVERSE ? n - 1 - i : i];
            if (t.state != AT_DEPENDENCY) continue;
            t.state = READY;
            run->ready.push_back(&t);
        }
}

void dependency_wait(site at)
{
    cuda_thread *t = static_cast<cuda_thread *>(self);
    if (!run->g->overlapping || t->waited) return;
    t->waited = true;
    if (run->hidden) wait_as(AT_DEPENDENCY, at);
    acquire(&finished[!grid_turn]);
}

void dependents_launch(site at)
{
    if (run->g->overlapping && !static_cast<cuda_thread *>(self)->waited)
        fail(at, "grid_dependents_launch before grid_dependency_wait: the next launch would not wait for the launches "
                 "before this one");
}

/* Reads unmapped memory as a debugger does, because mapping all device memory for each load would be slow. */
static bool peek(void *to, const void *from, size_t bytes)
{
    static const int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    return memory >= 0 && pread(memory, to, bytes, (off_t)(uintptr_t)from) == (ssize_t)bytes;
}

void read_early(void *to, const void *from, size_t bytes)
{
    const bool unmapped = run->hidden && !asan(); /* ASan does not check this uninstrumented code */
    if (unmapped && peek(to, from, bytes)) return;
    if (unmapped) memory_hide(false);
    for (size_t i = 0; i < bytes; i++) ((volatile char *)to)[i] = ((const volatile char *)from)[i];
    if (unmapped) memory_hide(true);
}

void early_load(void *to, const void *from, size_t bytes, site at)
{
    if (!memory_owns(from, bytes, false))
        fail(at, "grid_early_load: %p is not device memory, or not %zu bytes of it", from, bytes);
    for (size_t i = 0; __tsan_read1 && i < bytes; i++) __tsan_read1((char *)from + i);
    read_early(to, from, bytes);
}

} // namespace sim
