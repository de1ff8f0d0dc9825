/* Finding a device, and saying in words what CUDA says in numbers. */
#ifndef DG_CUDA_DEVICE_CUH
#define DG_CUDA_DEVICE_CUH

#include "kernels/dev/dev.cuh"
extern "C" {
#include "core/plan/backend.h"
}

/* Can code of this build run on compute capability major.minor? */
bool dg_cuda_covers(int major, int minor);

/* Has this build code for sm_90a, which variant wgmma is? */
bool dg_cuda_has_wgmma(void);

/* "sm_75, sm_80 and what is newer than sm_80": for messages. */
const char *dg_cuda_built_for(void);

/* Why a device that dg_cuda_covers refuses cannot be used. */
void dg_cuda_uncovered(char *out, size_t size, int major, int minor);

/* Why there is no device: what cudaGetDeviceCount returned, with the versions of driver and runtime (12080 is 12.8).
 * Writes one sentence into out. */
void dg_cuda_absence(char *out, size_t size, cudaError_t e, int driver, int runtime);

/* After these errors nothing but ending the process helps. */
bool dg_cuda_fatal(cudaError_t e);

#endif
