#include "core/base/limits.h"

#include <fcntl.h>
#include <omp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/base/cgroup.h"
#include "core/base/cores.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

enum { MOST_THREADS = 1024, STACK = 2 << 20 }; /* STACK: stack bytes of each thread if the address space is limited */

/* Uses no malloc, because the caller reports a failed malloc. */
static bool read_small(const char *path, char *text, size_t size)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    const ssize_t n = read(fd, text, size - 1);
    close(fd);
    text[n > 0 ? n : 0] = 0;
    return n > 0;
}

/* Returns a field of /proc/self/statm in bytes. Field 0 is the address space. Field 5 is data and stack. */
static size_t mapped(int field)
{
    char text[256], *at = text;
    if (!read_small("/proc/self/statm", text, sizeof text)) return 0;
    for (int i = 0; i < field; i++) (void)strtoull(at, &at, 10);
    return (size_t)strtoull(at, NULL, 10) * (size_t)sysconf(_SC_PAGESIZE);
}

static void note(dg_memory_limit *out, size_t all, size_t used, const char *name)
{
    const size_t left = all > used ? all - used : 0;
    if (left >= out->left && out->name[0]) return;
    *out = (dg_memory_limit){.all = all, .left = left};
    snprintf(out->name, sizeof out->name, "%s", name);
}

static bool is_finite(struct rlimit l, size_t *out)
{
    *out = (size_t)l.rlim_cur;
    return l.rlim_cur != RLIM_INFINITY && l.rlim_cur < SIZE_MAX;
}

static bool address_limit(size_t *out)
{
    struct rlimit l;
    return !getrlimit(RLIMIT_AS, &l) && is_finite(l, out);
}

static bool data_limit(size_t *out)
{
    struct rlimit l;
    return !getrlimit(RLIMIT_DATA, &l) && is_finite(l, out);
}

static size_t line_of(const char *text, const char *name)
{
    const char *at = strstr(text, name);
    return at ? (size_t)strtoull(at + strlen(name), NULL, 10) << 10 : 0;
}

static void note_promises(dg_memory_limit *out)
{
    char text[4096];
    if (!read_small("/proc/sys/vm/overcommit_memory", text, sizeof text) || text[0] != '2') return;
    if (!read_small("/proc/meminfo", text, sizeof text)) return;
    const size_t all = line_of(text, "CommitLimit:");
    if (all) note(out, all, line_of(text, "Committed_AS:"), "CommitLimit of the machine (vm.overcommit_memory = 2)");
}

static void note_addresses(dg_memory_limit *out)
{
    size_t all;
    if (address_limit(&all)) note(out, all, mapped(0), "ulimit -v");
    if (data_limit(&all)) note(out, all, mapped(5), "ulimit -d");
    out->addresses = !strncmp(out->name, "ulimit", 6);
    note_promises(out);
}

void dg_memory_limit_read(dg_memory_limit *out)
{
    dg_cgroup_limit group;
    char name[256];
    *out = (dg_memory_limit){0};
    note(out, dg_machine_memory(), 0, "the machine");
    if (dg_cgroup_memory("", dg_machine_swap(), &group)) {
        snprintf(name, sizeof name, "%s of the cgroup %s", group.file, group.group);
        note(out, group.all, group.all - group.left, name);
    }
    note_addresses(out);
}

size_t dg_memory_free(void)
{
    char text[4096];
    dg_memory_limit l;
    dg_memory_limit_read(&l);
    const size_t left = read_small("/proc/meminfo", text, sizeof text) ? line_of(text, "MemAvailable:") : 0;
    return left && left < l.left ? left : l.left;
}

const char *dg_memory_limit_note(char *out, size_t size)
{
    dg_memory_limit l = {.left = SIZE_MAX};
    note_addresses(&l);
    *out = 0;
    if (l.name[0])
        snprintf(out, size, "; %s allows %.1f MB, of which %.1f MB are left", l.name, (double)l.all / 1e6,
                 (double)l.left / 1e6);
    return out;
}

const char *dg_thread_limit_note(char *out, size_t size)
{
    dg_cgroup_limit group;
    struct rlimit l;
    const bool users = !getrlimit(RLIMIT_NPROC, &l) && l.rlim_cur != RLIM_INFINITY;
    *out = 0;
    if (dg_cgroup_threads("", &group) && group.left < 64)
        snprintf(out, size, "; pids.max of the cgroup %s allows %zu tasks", group.group, group.all);
    else if (dg_memory_limit_note(out, size)[0] == 0 && users && l.rlim_cur < 4096)
        snprintf(out, size, "; ulimit -u allows this user %llu tasks", (unsigned long long)l.rlim_cur);
    return out;
}

/* Returns the number of processors that a batch system such as Slurm grants the process, or 0 if unknown. */
static int granted(void)
{
    static const char *const name[] = {"SLURM_CPUS_PER_TASK", "NSLOTS", "NCPUS", "LSB_DJOB_NUMPROC"};
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        const char *text = getenv(name[i]);
        const long n = text ? strtol(text, NULL, 10) : 0;
        if (n >= 1 && n <= MOST_THREADS) return (int)n;
    }
    return 0;
}

/* Returns n, or fewer if the stacks of n threads would use over a quarter of the remaining address space. */
static int with_stacks(int n)
{
    size_t all;
    if (!address_limit(&all)) return n;
    const size_t used = mapped(0), most = all > used ? (all - used) / 4 / STACK : 0;
    return most < 1 ? 1 : (size_t)n > most ? (int)most : n;
}

int dg_default_threads(void)
{
    const char *text = getenv("OMP_NUM_THREADS");
    const long given = text ? strtol(text, NULL, 10) : 0;
    if (given >= 1 && given <= MOST_THREADS) return (int)given;
    int n = dg_cores();
    const int most = granted();
    if (most && n > most) n = most;
    return with_stacks(n > MOST_THREADS ? MOST_THREADS : n);
}

void dg_limits_begin(void)
{
    size_t all;
    if (!getenv("OMP_NUM_THREADS")) omp_set_num_threads(dg_default_threads());
    if (!address_limit(&all)) return;
#ifdef __GLIBC__
    pthread_attr_t a;
    size_t stack;
    (void)mallopt(M_ARENA_MAX, 1); /* each malloc arena reserves 64 MB of address space */
    if (pthread_getattr_default_np(&a)) return;
    if (!pthread_attr_getstacksize(&a, &stack) && stack > STACK && !pthread_attr_setstacksize(&a, STACK))
        (void)pthread_setattr_default_np(&a);
    pthread_attr_destroy(&a);
#endif
}
