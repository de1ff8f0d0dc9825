/* Limits of this process's control groups (cgroups, versions 1 and 2), of every group from the process to the root. A
 * root other than "" precedes /proc and the mount points, for tests. */
#ifndef DG_CGROUP_H
#define DG_CGROUP_H

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    size_t all, left; /* left: all minus what is used and cannot be reclaimed */
    char file[32];    /* with the limit */
    char group[160];
} dg_cgroup_limit;

/* The memory limit in bytes that leaves the least; swap: of the machine, of which the allowed part is included. */
bool dg_cgroup_memory(const char *root, size_t swap, dg_cgroup_limit *out);

/* The limit of threads and processes (pids.max) that leaves the fewest. */
bool dg_cgroup_threads(const char *root, dg_cgroup_limit *out);

/* Processors by quota (rounded up) and cpuset; 0: no limit. */
int dg_cgroup_cores(const char *root);

#endif
