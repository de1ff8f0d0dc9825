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
             DG_MSG("device-lost",
                    "%s on %s%s. This process has lost the device; the last checkpoint is intact. "
                    "Look for 'NVRM: Xid' in dmesg: "
                    "numbers 48, 63, 79 and 95 are hardware errors, 13 and 31 are errors of this program"),
             text, c->base.name,
             c->eager
                 ? ""
                 : DG_MSG("no-graph-hint", "; an earlier operation failed: run with no-graph to name this operation"));
    return dg_fail(DG_DEVICE, "%s", c->broken_message);
}
