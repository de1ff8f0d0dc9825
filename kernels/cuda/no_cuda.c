/* Replaces the CUDA backend in builds without CUDA. The macro DG_NO_CUDA (cuda.mk) is the reason why the build has no
 * CUDA. */
#include "core/plan/gpus.h"

/* Weak, because tests have a backend of their own. */
__attribute__((weak)) dg_err dg_cuda_open(const dg_cuda_options *o, dg_backend **out)
{
    (void)o;
    *out = NULL;
    return dg_fail(DG_DEVICE,
                   DG_MSG("built-without-cuda",
                          "{device cuda}: this dcgan was built without CUDA (" DG_NO_CUDA "); use {device cpu}"));
}

__attribute__((weak)) int dg_cuda_devices(dg_cuda_device *out, int room, const char **why)
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

static int no_open(double word_after, size_t piece, int *rank, int *size)
{
    (void)word_after, (void)piece, (void)rank, (void)size;
    return 1;
}
static const char *nccl_name(void) { return "NCCL"; }
static const char *no_why(void) { return "this dcgan was built without CUDA (" DG_NO_CUDA ")"; }

const dg_transport *dg_nccl_transport(int rank, int size, int device, const char *address)
{
    static const dg_transport none = {.open = no_open, .name = nccl_name, .why = no_why};
    (void)rank, (void)size, (void)device, (void)address;
    return &none;
}
