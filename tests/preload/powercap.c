/* Energy counters of a CPU that uses 50 W and of a memory that uses 10 W: replaces the files of Linux's powercap. The
 * counters wrap after 20 J. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "next.h"

FILE *fopen(const char *path, const char *mode)
{
    NEXT(FILE *, "fopen", const char *, const char *)
    static const char zones[] = "/sys/class/powercap/intel-rapl:";
    const char *const name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    struct timespec now;
    unsigned long long value = 20000000;
    if (strncmp(path, zones, sizeof zones - 1) != 0) return real(path, mode);
    path += sizeof zones - 1;
    const int memory = !strncmp(path, "0/intel-rapl:0:0/", 17);
    FILE *f = memory || (!strncmp(path, "0/", 2) && name == path + 2) ? tmpfile() : NULL;
    if (!f) return NULL;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (!strcmp(name, "energy_uj"))
        value = ((unsigned long long)now.tv_sec * 1000000 + (unsigned long long)now.tv_nsec / 1000) *
                (memory ? 10 : 50) % value;
    if (!strcmp(name, "name")) fputs(memory ? "dram\n" : "package-0\n", f);
    else fprintf(f, "%llu\n", value);
    rewind(f);
    return f;
}
