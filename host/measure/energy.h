/* Energy that devices have used. CPUs: the packages and the memory of Linux's powercap (RAPL; Intel, and AMD from Zen
 * on). GPU: NVML, from Volta on. A counter counts for its whole device, with the work of other programs. */
#pragma once

#include <stdbool.h>

typedef struct dg_energy dg_energy;

/* Open the counters of this machine's CPUs and, unless `bus` is "", of the GPU at this PCI bus id ("0000:3b:00.0").
 * `root` is a prefix of the paths of system files, "" except in tests. Returns NULL if the device that trains has no
 * counter that this process can read: the GPU, or without one the CPUs. */
dg_energy *dg_energy_open(const char *root, const char *bus);
void dg_energy_close(dg_energy *e);

/* Returns the joules since the counters were opened. Counters of CPUs wrap after some minutes of full load at the
 * earliest; call this function more often. Unless `now` is true, it reads the counters at most ten times per second. */
double dg_energy_joules(dg_energy *e, bool now);

/* Returns the names of the counters, such as "package-0, dram, GPU". */
const char *dg_energy_of(const dg_energy *e);
