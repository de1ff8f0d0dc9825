#include "kernels/cuda/cuda_device.cuh"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef DG_CUDA_SASS
#define DG_CUDA_SASS "75 80 86 89 90 100 120"
#define DG_CUDA_PTX 120
#define DG_CUDA_WGMMA 1
#endif

bool dg_cuda_covers(int major, int minor)
{
    char *rest;
    for (const char *at = DG_CUDA_SASS; *at; at = rest) {
        const long arch = strtol(at, &rest, 10);
        if (rest == at) break;
        if (arch / 10 == major && arch % 10 <= minor) return true;
    }
    return DG_CUDA_PTX <= major * 10 + minor;
}

bool dg_cuda_has_wgmma(void) { return DG_CUDA_WGMMA; }

const char *dg_cuda_built_for(void)
{
    static thread_local char text[160];
    size_t n = 0;
    for (const char *at = DG_CUDA_SASS; *at && n + 16 < sizeof text; at += strcspn(at, " "), at += strspn(at, " "))
        n += (size_t)snprintf(text + n, sizeof text - n, "%ssm_%.*s", n ? ", " : "", (int)strcspn(at, " "), at);
    snprintf(text + n, sizeof text - n, "%s sm_%d", n ? " and GPUs newer than" : "GPUs of at least", DG_CUDA_PTX);
    return text;
}

void dg_cuda_uncovered(char *out, size_t size, int major, int minor)
{
    snprintf(out, size, "the device is sm_%d%d, but this dcgan is built for %s", major, minor, dg_cuda_built_for());
}

static const struct {
    int code;
    const char *text; /* a format for dg_cuda_built_for() */
} reasons[] = {
    {46, DG_MSG("exclusive-gpu", "the GPU is in exclusive use by another process (nvidia-smi shows which)")},
    {100, DG_MSG("no-visible-gpu", "no NVIDIA GPU is visible (see CUDA_VISIBLE_DEVICES and nvidia-smi)")},
    {209, DG_MSG("no-code-for-gpu", "this dcgan has no code for this GPU: it is built for %s")},
    {222, DG_MSG("old-driver-for-ptx", "the NVIDIA driver is too old for the PTX of this dcgan, which is built for %s; "
                                       "update the driver, or build with CUDA_ARCH=native")},
    {803, DG_MSG("driver-mismatch", "the NVIDIA driver in the kernel and its libraries are of different versions; "
                                    "reboot, or install the driver again")},
    {804, DG_MSG("compatibility-package", "the CUDA compatibility package that is installed does not serve this GPU; "
                                          "remove it, or update the driver")},
};

void dg_cuda_absence(char *out, size_t size, cudaError_t e, int driver, int runtime)
{
    if ((int)e == 35) { /* cudaErrorInsufficientDriver, which is also returned if there is no driver */
        if (driver == 0) snprintf(out, size, DG_MSG("no-driver", "no NVIDIA driver is loaded on this machine"));
        else
            snprintf(out, size,
                     DG_MSG("old-driver", "the NVIDIA driver is too old: it offers CUDA %d.%d, this program needs "
                                          "%d.%d; update the driver, or build with an older nvcc"),
                     driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
        return;
    }
    for (const auto &r : reasons)
        if (r.code == (int)e) {
            snprintf(out, size, r.text, dg_cuda_built_for());
            return;
        }
    snprintf(out, size, DG_MSG("cuda-start-failed", "CUDA does not start: %s (%s, %d)"), cudaGetErrorString(e),
             cudaGetErrorName(e), (int)e);
}

/* After most fatal errors, "the process must be terminated and relaunched" (CUDA 13's manual). ECC errors, NVLink
 * errors, a lost device and cudaErrorUnknown are also treated as fatal. */
bool dg_cuda_fatal(cudaError_t e)
{
    static const int fatal[] = {46, 214, 220, 226, 700, 702, 710, 714, 715, 716, 717, 718, 719, 721, 810, 911, 999};
    for (const int code : fatal)
        if (code == (int)e) return true;
    return false;
}

static int count_devices(char *why, size_t size)
{
    int count = 0, driver = 0, runtime = 0;
    const cudaError_t e = cudaGetDeviceCount(&count);
    if (e == cudaSuccess && count > 0) return count;
    (void)cudaGetLastError();
    if (cudaDriverGetVersion(&driver) != cudaSuccess) driver = 0;
    if (cudaRuntimeGetVersion(&runtime) != cudaSuccess) runtime = 0;
    dg_cuda_absence(why, size, e == cudaSuccess ? cudaErrorNoDevice : e, driver, runtime);
    return 0;
}

extern "C" int dg_cuda_devices(dg_cuda_device *out, int room, const char **why)
{
    static thread_local char text[400];
    *why = "";
    const int count = count_devices(text, sizeof text);
    if (!count) *why = text;
    for (int i = 0; i < count && i < room; i++) {
        cudaDeviceProp p;
        dg_cuda_device d = {};
        const cudaError_t e = cudaGetDeviceProperties(&p, i);
        if (e == cudaSuccess) {
            snprintf(d.name, sizeof d.name, "%.127s", p.name);
            d.major = p.major;
            d.minor = p.minor;
            d.multiprocessors = p.multiProcessorCount;
            d.bytes = p.totalGlobalMem;
            d.usable = dg_cuda_covers(p.major, p.minor);
            if (!d.usable) dg_cuda_uncovered(d.why_not, sizeof d.why_not, p.major, p.minor);
        } else {
            (void)cudaGetLastError();
            snprintf(d.name, sizeof d.name, "device %d", i);
            snprintf(d.why_not, sizeof d.why_not, "the device does not respond: %s (%d)", cudaGetErrorString(e),
                     (int)e);
        }
        out[i] = d;
    }
    return count < room ? count : room;
}
