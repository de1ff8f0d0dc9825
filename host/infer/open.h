/* Which backend a description of a device means: what host/cli and the library open. */
#ifndef DG_OPEN_H
#define DG_OPEN_H

#include "core/plan/backend.h"
#include "core/plan/precision.h"

typedef struct {
    const char *device;            /* "auto", "cpu", "cuda" or "cuda:N" */
    const dg_precision *precision; /* NULL: `preferred` where the device has it, else fp32 */
    const dg_precision *preferred; /* NULL: bf16 */
    int threads;                   /* of the CPU; 0: OMP_NUM_THREADS, else every core this process may use */
    const dg_variant *conv;        /* of the CPU's convolutions, where it can; NULL: what suits each shape */
    const char *tuning;            /* of a GPU: a file of rows, NULL: none */
    unsigned fuse;                 /* of a GPU: DG_FUSE_... (fused.h) */
    bool eager;                    /* of a GPU: op by op instead of a captured graph */
    bool begun;                    /* precision is that of a run which goes on */
} dg_device;

/* Is this the name of a device? Whether it is there does not matter. */
bool dg_device_known(const char *name);

/* `cuda` is never replaced by something else; `auto` may be, and warns when there is a GPU that it leaves out. */
dg_err dg_device_open(const dg_device *d, dg_backend **out);

/* Its two halves: the GPU that d means; DG_OK with *out NULL when it means the CPU, which is then opened by the second,
 * after a warning where there is a reason. */
dg_err dg_device_open_gpu(const dg_device *d, dg_backend **out, char *why, size_t size);
dg_err dg_device_open_cpu(const dg_device *d, const char *why, dg_backend **out);

/* Is there an NVIDIA GPU among the devices of this directory, /sys/bus/pci/devices? Asked when no driver answers. */
bool dg_nvidia_hardware(const char *devices);

#endif
