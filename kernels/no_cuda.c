/* Linked instead of the CUDA backend where there was no nvcc. */
#include "backend.h"

static const char why_not[] = "this dcgan was built without CUDA (no nvcc was found); use --device cpu";

dg_err dg_cuda_open(const dg_cuda_options *o, dg_backend **out)
{
    (void)o;
    *out = NULL;
    return dg_fail(DG_DEVICE, "%s", why_not);
}

int dg_cuda_devices(dg_cuda_device *out, int room, const char **why)
{
    (void)out;
    (void)room;
    *why = "built without CUDA";
    return 0;
}
