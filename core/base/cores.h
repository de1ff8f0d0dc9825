/* Processors and memory of the machine, from system calls. */
#ifndef DG_CORES_H
#define DG_CORES_H

#include <stddef.h>

/* Processors that this process may use, at least 1, by its affinity and the quota of its cgroups. */
int dg_cores(void);

/* Bytes of memory and swap of the machine; SIZE_MAX: unknown. */
size_t dg_machine_memory(void);

size_t dg_machine_swap(void);

#endif
