/* What NVML calls the utilisation of a GPU: percent of the time in which at least one kernel ran, over the last sixth
 * of a second to a second; it says nothing of how much of the GPU that kernel filled. The library is opened when it is
 * asked for, and comes with the driver. */
#ifndef DG_NVML_H
#define DG_NVML_H

typedef struct dg_nvml dg_nvml;

/* Of the GPU at this place on the PCI bus ("0000:3b:00.0"). NULL: *why says so, static text. */
dg_nvml *dg_nvml_open(const char *bus, const char **why);
void dg_nvml_close(dg_nvml *n); /* may be NULL */

/* Percent; -1: unknown, also where n is NULL. */
double dg_nvml_utilisation(const dg_nvml *n);

#endif
