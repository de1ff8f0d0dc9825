/* Opens the CPU or GPU backend that a dg_device describes. */
#pragma once

#include "core/plan/backend.h"
#include "core/plan/precision.h"

typedef struct {
    const char *device;            /* "auto", "cpu", "cuda" or "cuda:N" */
    const dg_precision *precision; /* the precision, or NULL for `preferred` (fp32 if the device lacks it) */
    const dg_precision *preferred; /* preferred precision, or NULL for bf16 */
    int threads;                   /* CPU threads; 0 means OMP_NUM_THREADS or, if it is unset, the number of cores */
    const dg_variant *conv;        /* used for CPU convolutions that the variant supports; if NULL, the shape decides */
    const char *tuning;            /* path of the tuning file for a GPU, or NULL */
    unsigned fuse;                 /* fusion flags DG_FUSE_... for a GPU (fused.h) */
    bool eager;                    /* launch GPU ops one by one instead of a captured graph */
    bool begun;                    /* true if `precision` is that of a resumed run */
} dg_device;

/* True if name is a valid device name, even if the device is missing. */
bool dg_device_known(const char *name);

/* Open device d. If no GPU is usable, device auto opens the CPU with a warning. Device cuda never opens the CPU. */
dg_err dg_device_open(const dg_device *d, dg_backend **out);

/* Like dg_device_open, but with the training precision as default, so that results equal those of training. */
dg_err dg_device_open_trained(const dg_device *d, const char *precision, dg_backend **out);

/* Open a GPU. For device cpu, or device auto without a usable GPU, *out becomes NULL, and `why` the reason or "". The
 * caller then opens the CPU backend by dg_device_open_cpu, which prints the reason as a warning. */
dg_err dg_device_open_gpu(const dg_device *d, dg_backend **out, char *why, size_t size);
dg_err dg_device_open_cpu(const dg_device *d, const char *why, dg_backend **out);

/* True if the directory `devices` (/sys/bus/pci/devices) lists an NVIDIA GPU, even without a working driver. */
bool dg_nvidia_hardware(const char *devices);
