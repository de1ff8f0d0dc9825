/* Output shapes shared by layer kinds. */
#include <stdarg.h>
#include <stdio.h>

#include "host/net/layers/layers.h"

dg_err dg_layer_fail(const dg_layer *l, const char *where, const char *format, ...)
{
    char why[DG_MESSAGE_BYTES], named[DG_MESSAGE_BYTES];
    va_list ap;
    va_start(ap, format);
    vsnprintf(why, sizeof why, dg_named_settings(named, sizeof named, format), ap);
    va_end(ap);
    return dg_fail(DG_USAGE, "%s:%d: [%s] %s", where, l->line, l->name, why);
}

dg_err dg_layer_windows(const dg_layer *l, const char *where, bool floors, dg_shape *out)
{
    const int shorter = dg_shorter_side(l->kernel);
    if (l->pad >= shorter) return dg_layer_fail(l, where, "pad = %d: must be less than kernel = %d", l->pad, shorter);
    const int from[2] = {l->in.H, l->in.W}, kernel[2] = {l->kernel.H, l->kernel.W};
    int *const to[2] = {&out->H, &out->W};
    for (int d = 0; d < 2; d++) {
        const int span = from[d] + 2 * l->pad - kernel[d];
        const int rest = span < 0 ? 0 : span % l->stride;
        /* unused pixels are allowed if they are padding, or if stride > kernel */
        if (!floors && rest > l->pad && kernel[d] >= l->stride)
            return dg_layer_fail(
                l, where,
                "an input of %d x %d with kernel = %d, stride = %d, pad = %d leaves %d pixels unused; choose a "
                "pad that leaves none",
                l->in.W, l->in.H, kernel[d], l->stride, l->pad, rest);
        *to[d] = span < 0 ? 0 : span / l->stride + 1;
    }
    return DG_OK;
}

dg_err dg_layer_check_size(const dg_layer *l, const char *where)
{
    const int side[2] = {l->out.H, l->out.W};
    for (int d = 0; d < 2; d++)
        if (side[d] < 1 || side[d] > DG_LAYER_SIDE)
            return dg_layer_fail(l, where,
                                 "output of %d x %d pixels from a %d x %d input; check kernel, stride and pad",
                                 l->out.W, l->out.H, l->in.W, l->in.H);
    return DG_OK;
}

dg_err dg_layer_same_shape(dg_layer *l, const char *where)
{
    (void)where;
    l->out = l->in;
    return DG_OK;
}
