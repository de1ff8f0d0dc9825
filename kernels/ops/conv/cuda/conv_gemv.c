/* Variant gemv: y is one pixel with few channels, and the kernel covers all of x. */
#include "kernels/ops/conv/cuda/conv_rows.h"

#define no dg_variant_no

static const char *check(const dg_op *op, dg_tune *t, dg_type real, const dg_gpu *gpu)
{
    (void)gpu;
    const dg_conv_args a = dg_conv_flat(&op->u.conv);
    const char *why = dg_conv_check(op, t, real);
    if (why) return why;
    if (a.K != 1 || a.S != 1 || a.P || a.Ho != 1 || a.Wo != 1)
        return no("variant gemv requires a kernel that covers all of x, and a y of one pixel");
    if (a.Co > 4) return no("variant gemv supports at most 4 channels of y, not %d", a.Co);
    if (a.Ci % 4) return no("variant gemv requires a multiple of 4 values per image, not %d", a.Ci);
    if (a.N > 65535) return no("variant gemv supports at most 65535 images");
    if ((t->block && t->block != 256) || t->tile_m || t->stages || t->split > 1)
        return no("variant gemv has 256 threads and accepts no tile, stages or split");
    t->block = 256;
    return NULL;
}

static void work(const dg_op *op, dg_work *w)
{
    const dg_conv_args a = dg_conv_flat(&op->u.conv);
    w->blocks = op->kind == DG_OP_conv_fwd  ? a.N
                : op->kind == DG_OP_conv_dx ? dg_ceil_divf(a.Ci / 4.0, w->threads) * a.N
                                            : dg_ceil_divf(a.Ci, 128) * a.Co;
    w->products = (double)a.N * a.Ci * a.Co / w->blocks;
    w->outputs = 4;
}

const dg_variant dg_conv_variant_gemv = {.name = "gemv", .check = check, .work = work, .fused = DG_FUSED_GEMV};
