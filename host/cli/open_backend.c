#include "host/cli/open_async.h"
#include "core/plan/fusions.h"
#include "kernels/ops/conv/variants.h"

dg_device dg_options_device(const dg_options *o)
{
    static const dg_variant *const conv[] = {NULL, &dg_conv_variant_direct, &dg_conv_variant_winograd,
                                             &dg_conv_variant_gemm};
    return (dg_device){.device = o->device,
                       .precision = o->precision == DG_PRECISION_AUTO ? NULL : &dg_precisions[o->precision],
                       .threads = o->threads,
                       .conv = conv[o->conv],
                       .tuning = o->tuning,
                       /* `dcgan tune` measures ops one by one, without fusion */
                       .fuse = o->command == DG_CMD_TUNE ? (unsigned)DG_FUSE_NONE : o->fused,
                       .eager = o->no_graph,
                       .begun = o->resume && !o->tf32_line};
}

dg_err dg_open_gpu(const dg_options *o, dg_backend **out, char *why, size_t size)
{
    const dg_device d = dg_options_device(o);
    return dg_device_open_gpu(&d, out, why, size);
}

dg_err dg_open_instead(const dg_options *o, const char *why, dg_backend **out)
{
    const dg_device d = dg_options_device(o);
    return dg_device_open_cpu(&d, why, out);
}

dg_err dg_open_backend(const dg_options *o, dg_backend **out)
{
    const dg_device d = dg_options_device(o);
    return dg_device_open(&d, out);
}
