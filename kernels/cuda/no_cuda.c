/* Replaces the CUDA backend in builds without CUDA. The macro DG_NO_CUDA (cuda.mk) is the reason why the build has no
 * CUDA. */
#include "core/plan/gpus.h"

dg_err dg_cuda_open(const dg_cuda_options *o, dg_backend **out)
{
    (void)o;
    *out = NULL;
    return dg_fail(DG_DEVICE,
                   DG_MSG("built-without-cuda",
                          "{device cuda}: this dcgan was built without CUDA (" DG_NO_CUDA "); use {device cpu}"));
}

int dg_cuda_devices(dg_cuda_device *out, int room, const char **why)
{
    (void)out;
    (void)room;
    *why = "this dcgan was built without CUDA (" DG_NO_CUDA ")";
    return 0;
}

dg_err dg_cuda_connect(dg_backend *b)
{
    (void)b;
    return DG_OK; /* no backend of this build has a GPU */
}
