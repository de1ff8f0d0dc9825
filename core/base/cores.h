/* What the machine has, by the calls of its system. */
#ifndef DG_CORES_H
#define DG_CORES_H

#include <stddef.h>

/* Processors that this process may use, at least 1: of its affinity, and of the quota of its cgroups. */
int dg_cores(void);

/* Bytes of memory that the machine has in all, with what it swaps to; SIZE_MAX: the system does not say. */
size_t dg_machine_memory(void);

/* Bytes of it that are swap. */
size_t dg_machine_swap(void);

#endif
