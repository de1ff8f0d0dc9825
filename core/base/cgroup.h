/* Limits of this process's control groups (cgroups, versions 1 and 2) and of all their ancestors.
 * The paths of all system files are prefixed by `root`, which is "" except in tests. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    size_t all, left; /* `left` is the limit minus the used bytes that cannot be reclaimed */
    char file[32];
    char group[160];
} dg_cgroup_limit;

/* Finds the cgroup memory limit with the fewest bytes left. `swap` is the machine's swap in bytes. The memory
 * limit includes the swap that the cgroup allows. */
bool dg_cgroup_memory(const char *root, size_t swap, dg_cgroup_limit *out);

/* Finds the cgroup whose pids.max allows the fewest additional threads and processes. */
bool dg_cgroup_threads(const char *root, dg_cgroup_limit *out);

/* Returns the number of processors that the CPU quota (rounded up) and the cpuset allow, or 0 for no limit. */
int dg_cgroup_cores(const char *root);
