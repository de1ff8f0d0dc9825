/* Limits of this process: of the machine, of cgroups (cgroup.h), of the shell (getrlimit) and of the batch system. */
#ifndef DG_LIMITS_OF_PROCESS_H
#define DG_LIMITS_OF_PROCESS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    size_t all, left; /* bytes, SIZE_MAX: unknown; left: what may still be used */
    bool addresses;   /* of addresses: stacks count that nobody has used */
    char name[256];   /* "the machine", "ulimit -v", "memory.max of the cgroup /a" */
} dg_memory_limit;

/* The memory limit that leaves the least memory. */
void dg_memory_limit_read(dg_memory_limit *out);

/* "; ulimit -v allows 200.0 MB, 12.1 MB are left" where a limit makes malloc fail, else "". */
const char *dg_memory_limit_note(char *out, size_t size);

/* "; ulimit -u allows 100", what may have refused a thread, else "". */
const char *dg_thread_limit_note(char *out, size_t size);

/* Threads for work on every processor, 1 to 1024: OMP_NUM_THREADS, else the processors of dg_cores(), no more than the
 * batch system granted (SLURM_CPUS_PER_TASK, NSLOTS, NCPUS, LSB_DJOB_NUMPROC), and with stacks that fit into a limit of
 * addresses. */
int dg_default_threads(void);

/* To be called once, before threads start: smaller stacks and a single malloc arena if addresses are limited. */
void dg_limits_begin(void);

#endif
