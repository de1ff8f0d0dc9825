/* Variant cublas: unfold patches, multiply with cuBLAS, fold. */
#include "kernels/ops/conv/cuda/conv_rows.h"

#define no dg_variant_no

/* True if the convolution is a product of x and w without unfolding. */
static bool is_product(const dg_conv_args *flat) { return flat->K == 1 && flat->S == 1 && flat->P == 0; }

static const char *check(const dg_op *op, dg_tune *t, dg_type real, const dg_gpu *gpu)
{
    (void)gpu;
    const dg_conv_args a = dg_conv_flat(&op->u.conv);
    const char *why = dg_conv_check(op, t, real);
    if (why) return why;
    if (t->block || t->tile_m || t->stages || t->split > 1)
        return no("variant cublas has no block, tile, stages or split");
    const double patches = (double)a.N * a.Ho * a.Wo * a.K * a.K * a.Ci;
    return patches > DG_TENSOR_VALUES ? no("variant cublas: too many values in patches: %.0f million", patches / 1e6)
                                      : NULL;
}

/* Counts a product in tiles of 128 x 64 (those of cuBLAS are unknown) and a kernel that unfolds or folds patches. */
static void work(const dg_op *op, dg_work *w)
{
    const dg_conv_args a = dg_conv_flat(&op->u.conv);
    const dg_conv_product p = dg_conv_product_of(op->kind == DG_OP_conv_dx ? DG_OP_conv_fwd : op->kind, &a);
    w->threads = 128;
    w->blocks = dg_ceil_divf(p.m, 128) * dg_ceil_divf(p.n, 64);
    w->products = 128 * 64 * p.k;
    w->loads = 4 * (128 + 64) * p.k;
    w->outputs = 64;
    if (is_product(&a)) return;
    w->kernels++;
    w->moved = 4 * 2 * ((double)a.N * a.Ho * a.Wo * a.K * a.K * a.Ci);
}

static size_t scratch(const dg_op *op, dg_type real)
{
    (void)real;
    const dg_conv_args f = dg_conv_flat(&op->u.conv);
    if (is_product(&f)) return 0;
    return (size_t)f.N * (size_t)(f.Ho * f.Wo) * (size_t)(f.K * f.K * f.Ci) * sizeof(float);
}

/* exclusive: cuBLAS has one workspace, so such ops do not run concurrently. */
const dg_variant dg_conv_variant_cublas = {
    .name = "cublas", .check = check, .work = work, .scratch = scratch, .by_row = true, .exclusive = true};
