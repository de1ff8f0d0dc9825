/* GPU utilisation from NVML: percent of the time in which at least one kernel ran, over the last 1/6 to 1 second. The
 * value does not say how much of the GPU a kernel fills. The library NVML comes with the driver and is opened at run
 * time. */
#ifndef DG_NVML_H
#define DG_NVML_H

typedef struct dg_nvml dg_nvml;

/* bus: PCI bus id ("0000:3b:00.0"). Returns NULL on failure, with the reason (static text) in *why. */
dg_nvml *dg_nvml_open(const char *bus, const char **why);
void dg_nvml_close(dg_nvml *n);

/* Returns the utilisation in percent; -1: unknown, or n is NULL. */
double dg_nvml_utilisation(const dg_nvml *n);

#endif
