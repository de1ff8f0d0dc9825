#include "core/base/cores.h"

#include "core/base/cgroup.h"

#include <stdint.h>
#include <unistd.h>

#ifdef __linux__

#include <sched.h>
#include <sys/sysinfo.h>

/* Returns -1 if the affinity mask is larger than a cpu_set_t. */
static long allowed(void)
{
    cpu_set_t mine;
    return sched_getaffinity(0, sizeof mine, &mine) == 0 ? CPU_COUNT(&mine) : -1;
}

size_t dg_machine_memory(void)
{
    struct sysinfo s;
    return sysinfo(&s) == 0 ? ((size_t)s.totalram + s.totalswap) * s.mem_unit : SIZE_MAX;
}

size_t dg_machine_swap(void)
{
    struct sysinfo s;
    return sysinfo(&s) == 0 ? (size_t)s.totalswap * s.mem_unit : 0;
}

#else

static long allowed(void) { return -1; }

size_t dg_machine_memory(void)
{
    const long pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGESIZE);
    return pages > 0 && bytes > 0 ? (size_t)pages * (size_t)bytes : SIZE_MAX;
}

size_t dg_machine_swap(void) { return 0; }

#endif

int dg_cores(void)
{
    long n = allowed();
    if (n < 1) n = sysconf(_SC_NPROCESSORS_ONLN);
    const int most = dg_cgroup_cores("");
    if (most && n > most) n = most;
    return n < 1 ? 1 : (int)n;
}
