/* Opens the backend that a dg_device describes, for host/cli and the library. */
#ifndef DG_OPEN_H
#define DG_OPEN_H

#include "core/plan/backend.h"
#include "core/plan/precision.h"

typedef struct {
    const char *device;            /* "auto", "cpu", "cuda" or "cuda:N" */
    const dg_precision *precision; /* NULL: `preferred` if the device supports it, else fp32 */
    const dg_precision *preferred; /* NULL: bf16 */
    int threads;                   /* CPU threads; 0: OMP_NUM_THREADS, else all available cores */
    const dg_variant *conv;        /* CPU convolution if supported; NULL: by shape */
    const char *tuning;            /* GPU: file of tuning rows, NULL: none */
    unsigned fuse;                 /* GPU: DG_FUSE_... (fused.h) */
    bool eager;                    /* GPU: launch op by op instead of a captured graph */
    bool begun;                    /* the precision comes from a resumed run */
} dg_device;

/* True if this is a valid device name, present or not. */
bool dg_device_known(const char *name);

/* Device cuda never falls back to the CPU; device auto does so, with a warning if a GPU is not used. */
dg_err dg_device_open(const dg_device *d, dg_backend **out);

/* Like dg_device_open, with this training precision as the default, so that results equal those of the run. */
dg_err dg_device_open_trained(const dg_device *d, const char *precision, dg_backend **out);

/* The two parts of dg_device_open. If dg_device_open_gpu returns DG_OK with *out NULL, use the CPU. dg_device_open_cpu
 * opens the CPU, and prints the warning `why` unless it is "". */
dg_err dg_device_open_gpu(const dg_device *d, dg_backend **out, char *why, size_t size);
dg_err dg_device_open_cpu(const dg_device *d, const char *why, dg_backend **out);

/* True if the directory (/sys/bus/pci/devices) lists an NVIDIA GPU, which may have no working driver. */
bool dg_nvidia_hardware(const char *devices);

#endif
