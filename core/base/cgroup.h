/* Limits of the control groups (cgroups, version 1 and 2) of this process. Each group between the process and the root
 * counts. A root other than "" precedes /proc and the mount points: tests give the directory of a made tree. */
#ifndef DG_CGROUP_H
#define DG_CGROUP_H

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    size_t all, left; /* left: without what is used and cannot be reclaimed */
    char file[32];    /* that holds the limit */
    char group[160];  /* path of the group, as the system names it */
} dg_cgroup_limit;

/* The memory limit (bytes) that leaves the least memory, with the swap that it allows of the machine's `swap` bytes. */
bool dg_cgroup_memory(const char *root, size_t swap, dg_cgroup_limit *out);

/* The limit of threads and processes (pids.max) that leaves the fewest. */
bool dg_cgroup_threads(const char *root, dg_cgroup_limit *out);

/* Processors by quota, rounded up, and by cpuset; 0: no group limits them. */
int dg_cgroup_cores(const char *root);

#endif
