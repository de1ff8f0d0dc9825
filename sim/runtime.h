/* The part of the CUDA runtime API that the CUDA backend uses, on a simulated device. A host access to device memory,
 * or a kernel access outside of an allocation, is reported. A stream runs its work when the work is enqueued or, with
 * SIM=deferred, when a call waits for the work. */
#pragma once

#include "types.h"

#define SIM_ERRORS(X)                                                                                      \
    X(Success, 0, "no error")                                                                              \
    X(ErrorInvalidValue, 1, "invalid argument")                                                            \
    X(ErrorMemoryAllocation, 2, "out of memory")                                                           \
    X(ErrorInitializationError, 3, "initialization error")                                                 \
    X(ErrorInvalidConfiguration, 9, "invalid configuration argument")                                      \
    X(ErrorInvalidDevicePointer, 17, "invalid device pointer")                                             \
    X(ErrorInsufficientDriver, 35, "CUDA driver version is insufficient for CUDA runtime version")         \
    X(ErrorDevicesUnavailable, 46, "CUDA-capable device(s) is/are busy or unavailable")                    \
    X(ErrorInvalidDeviceFunction, 98, "invalid device function")                                           \
    X(ErrorNoDevice, 100, "no CUDA-capable device is detected")                                            \
    X(ErrorInvalidDevice, 101, "invalid device ordinal")                                                   \
    X(ErrorNoKernelImageForDevice, 209, "no kernel image is available for execution on the device")        \
    X(ErrorECCUncorrectable, 214, "uncorrectable ECC error encountered")                                   \
    X(ErrorInvalidPtx, 218, "a PTX JIT compilation failed")                                                \
    X(ErrorUnsupportedPtxVersion, 222, "the provided PTX was compiled with an unsupported toolchain.")     \
    X(ErrorInvalidResourceHandle, 400, "invalid resource handle")                                          \
    X(ErrorNotReady, 600, "device not ready")                                                              \
    X(ErrorIllegalAddress, 700, "an illegal memory access was encountered")                                \
    X(ErrorLaunchOutOfResources, 701, "too many resources requested for launch")                           \
    X(ErrorLaunchTimeout, 702, "the launch timed out and was terminated")                                  \
    X(ErrorMisalignedAddress, 716, "misaligned address")                                                   \
    X(ErrorLaunchFailure, 719, "unspecified launch failure")                                               \
    X(ErrorCooperativeLaunchTooLarge, 720, "too many blocks in cooperative launch")                        \
    X(ErrorNotSupported, 801, "operation not supported")                                                   \
    X(ErrorSystemDriverMismatch, 803, "system has unsupported display driver / cuda driver combination")   \
    X(ErrorCompatNotSupportedOnDevice, 804, "forward compatibility was attempted on non supported HW")     \
    X(ErrorStreamCaptureUnsupported, 900, "operation not permitted when stream is capturing")              \
    X(ErrorStreamCaptureInvalidated, 901, "operation failed due to a previous error during capture")       \
    X(ErrorStreamCaptureUnmatched, 903, "operation was not started by a matching begin of capture")        \
    X(ErrorStreamCaptureUnjoined, 904, "capture ended with a forked stream that was not joined")           \
    X(ErrorStreamCaptureImplicit, 906, "operation would make the legacy stream depend on a capturing one") \
    X(ErrorUnknown, 999, "unknown error")
typedef enum cudaError {
#define X(name, value, text) cuda##name = value,
    SIM_ERRORS(X)
#undef X
} cudaError_t;

typedef struct CUstream_st *cudaStream_t;
typedef struct CUevent_st *cudaEvent_t;
typedef struct CUgraph_st *cudaGraph_t;
typedef struct CUgraphExec_st *cudaGraphExec_t;
typedef void (*cudaHostFn_t)(void *);
enum cudaMemcpyKind { cudaMemcpyHostToHost, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice };
enum { cudaStreamDefault = 0, cudaStreamNonBlocking = 1 };
enum { cudaEventDefault = 0, cudaEventBlockingSync = 1, cudaEventDisableTiming = 2 };
enum { cudaHostAllocDefault = 0, cudaHostAllocPortable = 1, cudaHostAllocMapped = 2, cudaHostAllocWriteCombined = 4 };
enum cudaStreamCaptureMode {
    cudaStreamCaptureModeGlobal,
    cudaStreamCaptureModeThreadLocal,
    cudaStreamCaptureModeRelaxed
};
enum cudaFuncAttribute {
    cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
    cudaFuncAttributePreferredSharedMemoryCarveout = 9
};
enum cudaDeviceAttr {
    cudaDevAttrComputeCapabilityMajor = 75,
    cudaDevAttrComputeCapabilityMinor = 76,
    cudaDevAttrMaxSharedMemoryPerBlockOptin = 97
};
struct cudaDeviceProp {
    char name[256];
    size_t totalGlobalMem, sharedMemPerBlockOptin;
    int major, minor, multiProcessorCount, l2CacheSize, cooperativeLaunch, pciBusID, pciDeviceID, pciDomainID;
};
struct cudaFuncAttributes {
    size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
    int maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion, maxDynamicSharedSizeBytes;
};

const char *cudaGetErrorName(cudaError_t e);
const char *cudaGetErrorString(cudaError_t e);
cudaError_t cudaGetLastError(void);
cudaError_t cudaPeekAtLastError(void);

cudaError_t cudaDriverGetVersion(int *version);
cudaError_t cudaRuntimeGetVersion(int *version);
cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *out, int device);
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDevice(int *device);
cudaError_t cudaDeviceSynchronize(void);
cudaError_t cudaMemGetInfo(size_t *free, size_t *total);

cudaError_t sim_malloc(void **p, size_t bytes, bool host);
template <class T> static inline cudaError_t cudaMalloc(T **p, size_t bytes)
{
    return sim_malloc((void **)p, bytes, false);
}
template <class T> static inline cudaError_t cudaMallocHost(T **p, size_t bytes)
{
    return sim_malloc((void **)p, bytes, true);
}
template <class T> static inline cudaError_t cudaHostAlloc(T **p, size_t bytes, unsigned)
{
    return sim_malloc((void **)p, bytes, true);
}
cudaError_t cudaFree(void *p);
cudaError_t cudaFreeHost(void *p);
cudaError_t cudaMemcpy(void *dst, const void *src, size_t bytes, cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream = nullptr);
cudaError_t cudaMemset(void *dst, int value, size_t bytes);
cudaError_t cudaMemsetAsync(void *dst, int value, size_t bytes, cudaStream_t stream = nullptr);

cudaError_t cudaStreamCreate(cudaStream_t *stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags = 0);
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data);
cudaError_t cudaEventCreate(cudaEvent_t *event);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = nullptr);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to);

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph);
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags);
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec);

cudaError_t sim_func(cudaFuncAttributes *out, size_t dynamic);
template <class K> static inline cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *out, K)
{
    return sim_func(out, 0);
}
template <class K> static inline cudaError_t cudaFuncSetAttribute(K, cudaFuncAttribute, int value)
{
    return sim_func(nullptr, (size_t)value);
}
