/* Limits of this process: machine, cgroups (cgroup.h), shell (getrlimit) and batch system. */
#ifndef DG_LIMITS_OF_PROCESS_H
#define DG_LIMITS_OF_PROCESS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    size_t all, left; /* bytes, SIZE_MAX: unknown; left: still available */
    bool addresses;   /* limit of addresses: includes unused stacks */
    char name[256];   /* "the machine", "ulimit -v", "memory.max of the cgroup /a" */
} dg_memory_limit;

void dg_memory_limit_read(dg_memory_limit *out);

/* "; ulimit -v allows 200.0 MB, 12.1 MB are left" if a limit makes malloc fail, else "". */
const char *dg_memory_limit_note(char *out, size_t size);

/* "; ulimit -u allows 100" if that may have refused a thread, else "". */
const char *dg_thread_limit_note(char *out, size_t size);

/* Threads for compute-bound work, 1 to 1024: OMP_NUM_THREADS, else dg_cores(), limited by the batch system
 * (SLURM_CPUS_PER_TASK, NSLOTS, NCPUS, LSB_DJOB_NUMPROC) and by the addresses for stacks. */
int dg_default_threads(void);

/* Call once, before threads start: smaller stacks and a single malloc arena if addresses are limited. */
void dg_limits_begin(void);

#endif
