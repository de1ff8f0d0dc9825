#include "commands.h"

#include <string.h>

dg_err dg_open_backend(const dg_options *o, dg_backend **out)
{
    if (!strncmp(o->device, "cuda", 4))
        return dg_fail(DG_DEVICE, "--device %s: this dcgan was built without CUDA; use --device cpu", o->device);
    static const char *const conv[] = {NULL, "direct", "winograd"}; /* by o->conv */
    return dg_cpu_open(&(dg_cpu_options){.threads = o->threads, .real = o->fp64 ? DG_F64 : DG_F32, .conv = conv[o->conv]}, out);
}
