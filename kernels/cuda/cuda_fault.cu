/* Turns a CUDA error into a message and decides whether the device is lost. */
#include "kernels/cuda/cuda_device.cuh"
#include "kernels/cuda/cuda_internal.cuh"

#include <stdio.h>

dg_err dg_gpu_report(gpu *c, const char *op, const char *what, cudaError_t e)
{
    char text[360];
    c->last = e;
    snprintf(text, sizeof text, "%s%s%s: %s (%s, %d)", op, *op ? ": " : "", what, cudaGetErrorString(e),
             cudaGetErrorName(e), (int)e);
    if (!dg_cuda_fatal(e)) {
        (void)cudaGetLastError();
        return dg_fail(DG_DEVICE, "%s", text);
    }
    c->broken = DG_DEVICE;
    snprintf(c->broken_message, sizeof c->broken_message,
             DG_MSG("device-lost", "%s on %s%s. The device is lost to this process; the last checkpoint is intact. "
                                   "Look for 'NVRM: Xid' in dmesg: "
                                   "48, 63, 79 and 95 mean hardware, 13 and 31 a mistake in this program"),
             text, c->base.name,
             c->eager ? ""
                      : DG_MSG("no-graph-hint",
                               "; some earlier operation failed: it is named where no graph is captured (no-graph)"));
    return dg_fail(DG_DEVICE, "%s", c->broken_message);
}
