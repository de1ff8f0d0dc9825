/* Variant cublas: dense layers and 1x1 convolutions with stride 1, which are one matrix product. */
#include "kernels/ops/conv/cuda/conv_rows.h"

#define no dg_variant_no

static const char *check(const dg_op *op, dg_tune *t, dg_type real, const dg_gpu *gpu)
{
    (void)gpu;
    const dg_conv_args a = dg_conv_flat(&op->u.conv);
    const char *why = dg_conv_check(op, t, real);
    if (why) return why;
    if (a.K != 1 || a.S != 1 || a.P)
        return no("variant cublas is for K=1 S=1 P=0, and for a kernel that covers all of x");
    return t->block || t->tile_m || t->stages || t->split > 1 ? no("variant cublas has no block, tile, stages or split")
                                                              : NULL;
}

/* Assumes tiles of 128 x 64, because the tiles of cuBLAS are unknown. */
static void work(const dg_op *op, dg_work *w)
{
    const dg_conv_args a = dg_conv_flat(&op->u.conv);
    const dg_conv_product p = dg_conv_product_of(op->kind == DG_OP_conv_dx ? DG_OP_conv_fwd : op->kind, &a);
    w->threads = 128;
    w->blocks = dg_ceil_divf(p.m, 128) * dg_ceil_divf(p.n, 64);
    w->products = 128 * 64 * p.k;
    w->loads = 4 * (128 + 64) * p.k;
    w->outputs = 64;
}

/* exclusive: ops of this variant must not run concurrently, because cuBLAS has one workspace. */
const dg_variant dg_conv_variant_cublas = {
    .name = "cublas", .check = check, .work = work, .by_row = true, .exclusive = true};
