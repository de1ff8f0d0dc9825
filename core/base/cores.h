/* Processors and memory of the machine. */
#pragma once

#include <stddef.h>

/* Returns how many processors the affinity mask and the cgroups allow, at least 1. */
int dg_cores(void);

/* Returns the machine's memory plus swap in bytes, or SIZE_MAX if unknown. */
size_t dg_machine_memory(void);

size_t dg_machine_swap(void);
