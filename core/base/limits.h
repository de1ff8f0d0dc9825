/* Limits on memory and threads by the machine, cgroups (cgroup.h), getrlimit and a batch system. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    size_t all, left; /* limit in bytes, and bytes still available; SIZE_MAX if unknown */
    bool addresses;   /* the limit is on the address space, so it counts unused stacks */
    char name[256];   /* "the machine", "ulimit -v", "memory.max of the cgroup /a" */
} dg_memory_limit;

void dg_memory_limit_read(dg_memory_limit *out);
/* Returns the bytes that this process can use without swapping: by its limits, and by what other programs leave free.
 */
size_t dg_memory_free(void);

/* Returns a note such as "; ulimit -v allows 200.0 MB, of which 12.1 MB are left" if a limit can make malloc fail, else
 * "". */
const char *dg_memory_limit_note(char *out, size_t size);

/* Returns a note such as "; ulimit -u allows this user 100 tasks" if a limit may have prevented a new thread, else
 * "". */
const char *dg_thread_limit_note(char *out, size_t size);

/* Returns the number of threads for compute-bound work, 1 to 1024. OMP_NUM_THREADS, if set, determines the number.
 * Otherwise the number is dg_cores(), reduced to the limits of the batch system (SLURM_CPUS_PER_TASK, NSLOTS, NCPUS,
 * LSB_DJOB_NUMPROC) and of the address space. */
int dg_default_threads(void);

/* If the address space is limited, sets smaller thread stacks and a single malloc arena. Call dg_limits_begin once,
 * before threads start. */
void dg_limits_begin(void);
