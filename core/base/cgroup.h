/* Limits of this process's control groups (cgroups, versions 1 and 2), of every group from the process to the root.
 * root: prefix of /proc and of the mount points, "" except in tests. */
#ifndef DG_CGROUP_H
#define DG_CGROUP_H

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    size_t all, left; /* left: the limit minus used bytes that cannot be reclaimed */
    char file[32];    /* with the limit */
    char group[160];
} dg_cgroup_limit;

/* Finds the cgroup memory limit that leaves the fewest bytes. swap: bytes of the machine's swap; the limit includes as
 * many of them as the cgroup allows. */
bool dg_cgroup_memory(const char *root, size_t swap, dg_cgroup_limit *out);

/* Finds the limit of threads and processes (pids.max) that leaves the fewest new ones. */
bool dg_cgroup_threads(const char *root, dg_cgroup_limit *out);

/* Returns the number of processors allowed by the quota (rounded up) and the cpuset, or 0 without a limit. */
int dg_cgroup_cores(const char *root);

#endif
