#include "host/measure/nvml.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* Layout of NVIDIA's nvmlUtilization_t. NVML functions return 0 for success. */
typedef struct {
    unsigned int gpu, memory;
} utilisation;

struct dg_nvml {
    void *library, *device;
    int (*end)(void);
    int (*rates)(void *device, utilisation *out);
    int (*energy)(void *device, unsigned long long *millijoules); /* NULL: an older NVML */
};

/* memcpy, because ISO C has no cast from void * to a function pointer */
static void find(void *library, const char *name, void *function)
{
    void *at = dlsym(library, name);
    memcpy(function, &at, sizeof at);
}

dg_nvml *dg_nvml_open(const char *bus, const char **why)
{
    int (*begin)(void) = NULL, (*by_bus)(const char *, void **) = NULL;
    dg_nvml *n = calloc(1, sizeof *n);
    *why = "out of memory";
    if (!n) return NULL;
    *why = "libnvidia-ml.so.1 (of NVIDIA's driver) cannot be opened";
    n->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (n->library) {
        find(n->library, "nvmlInit_v2", &begin);
        find(n->library, "nvmlDeviceGetHandleByPciBusId_v2", &by_bus);
        find(n->library, "nvmlShutdown", &n->end);
        find(n->library, "nvmlDeviceGetUtilizationRates", &n->rates);
        find(n->library, "nvmlDeviceGetTotalEnergyConsumption", &n->energy);
        *why = "libnvidia-ml.so.1 reports no data for this GPU";
        if (begin && by_bus && n->end && n->rates && begin() == 0) {
            if (by_bus(bus, &n->device) == 0 && dg_nvml_utilisation(n) >= 0) return n;
            (void)n->end();
        }
        (void)dlclose(n->library);
    }
    free(n);
    return NULL;
}

void dg_nvml_close(dg_nvml *n)
{
    if (!n) return;
    (void)n->end();
    (void)dlclose(n->library);
    free(n);
}

double dg_nvml_utilisation(const dg_nvml *n)
{
    utilisation u;
    return n && n->rates(n->device, &u) == 0 ? (double)u.gpu : -1;
}

double dg_nvml_joules(const dg_nvml *n)
{
    unsigned long long millijoules;
    return n && n->energy && n->energy(n->device, &millijoules) == 0 ? 1e-3 * (double)millijoules : -1;
}
