/* Tests the number of cores and the memory size on Linux, on Linux without /proc and /sys, and on other systems. */
#include "core/base/cores.h"
#include "test.h"

#include <sched.h>
#include <stdio.h>

static size_t linux_memory(void) { return dg_machine_memory(); }
static int linux_cores(void) { return dg_cores(); }

#define dg_cores elsewhere_cores
#define dg_machine_memory elsewhere_memory
#define dg_machine_swap elsewhere_swap
#define allowed elsewhere_allowed
#undef __linux__
int elsewhere_cores(void);
size_t elsewhere_memory(void);
size_t elsewhere_swap(void);
#include "core/base/cores.c" /* as compiled on other systems */

/* Returns the named value of /proc/meminfo in bytes. */
static double meminfo(const char *name)
{
    char line[256], key[64];
    double kib, found = NAN;
    FILE *f = fopen("/proc/meminfo", "re");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "%63[^:]: %lf kB", key, &kib) == 2 && !strcmp(key, name)) found = 1024 * kib;
    if (f) (void)fclose(f);
    return found;
}

int main(void)
{
    cpu_set_t mine, one;
    if (!DG_CHECK(!sched_getaffinity(0, sizeof mine, &mine))) return dg_test_report();
    DG_CHECK(linux_cores() <= CPU_COUNT(&mine) && elsewhere_cores() >= linux_cores());
    CPU_ZERO(&one);
    for (size_t i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++)
        if (CPU_ISSET(i, &mine)) CPU_SET(i, &one);
    DG_CHECK(!sched_setaffinity(0, sizeof one, &one) && linux_cores() == 1);
    const double ram = meminfo("MemTotal"), swap = meminfo("SwapTotal");
    DG_NEAR((double)linux_memory(), ram + swap, 1e-3 * ram);
    DG_NEAR((double)elsewhere_memory(), ram, 1e-3 * ram);
    return dg_test_report();
}
