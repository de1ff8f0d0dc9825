/* Finds a device and explains CUDA errors. */
#pragma once

#include "kernels/dev/dev.cuh"
extern "C" {
#include "core/plan/backend.h"
}

/* True if code of this build runs on compute capability major.minor. */
bool dg_cuda_covers(int major, int minor);

bool dg_cuda_has_wgmma(void);

/* Returns the supported GPUs as text, for example "sm_75, sm_80 and GPUs newer than sm_80". */
const char *dg_cuda_built_for(void);

void dg_cuda_uncovered(char *out, size_t size, int major, int minor);

/* Writes to `out` why no CUDA device is available. `e` is the result of cudaGetDeviceCount. `driver` and `runtime` are
 * CUDA versions such as 12080 for CUDA 12.8. */
void dg_cuda_absence(char *out, size_t size, cudaError_t e, int driver, int runtime);

/* True if, after error e, only a new process can use the device. */
bool dg_cuda_fatal(cudaError_t e);
