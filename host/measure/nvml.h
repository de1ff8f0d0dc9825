/* GPU utilisation and energy from NVML, a library of the GPU driver that is opened at run time. Utilisation is the
 * percentage of time in which at least one kernel ran. NVML averages the utilisation over 1/6 to 1 second. */
#pragma once

typedef struct dg_nvml dg_nvml;

/* Open NVML for the GPU at PCI bus id `bus` ("0000:3b:00.0"). On failure, return NULL and set *why to the reason
 * (static text). */
dg_nvml *dg_nvml_open(const char *bus, const char **why);
void dg_nvml_close(dg_nvml *n);

/* Returns the utilisation in percent; -1: unknown, or n is NULL. */
double dg_nvml_utilisation(const dg_nvml *n);

/* Returns the energy since the driver was loaded; -1: unknown, or n is NULL. */
double dg_nvml_joules(const dg_nvml *n);
