/* Variant direct of the CUDA convolutions, and functions that the other variants share. */
#include "kernels/ops/conv/cuda/conv_rows.h"

#include "core/plan/precision.h"

#define no dg_variant_no

static const char *check_sizes(const dg_conv_args *a, int more)
{
    const double N = (double)a->N + more,
                 sizes[] = {N * a->H * a->W * a->Ci, N * a->Ho * a->Wo * a->Co, (double)a->Co * a->K * a->K * a->Ci};
    for (int i = 0; i < 3; i++)
        if (sizes[i] > DG_TENSOR_VALUES) return no("too many values in one tensor: %.0f million", sizes[i] / 1e6);
    return NULL;
}

/* A tile extends past the batch by at most this number of images. */
enum { TILE_IMAGES = 8 };

const char *dg_conv_check(const dg_op *op, const dg_tune *t, dg_type real)
{
    const char *why = check_sizes(&op->u.conv, TILE_IMAGES);
    if (why) return why;
    if (real != DG_F32) return no("variant %s computes in fp32 only", t->variant->name);
    return dg_variant_aligned(op, real) ? NULL : no("the address of an operand is not a multiple of 16 bytes");
}

const char *dg_conv_check_tile(dg_tune *t, int threads)
{
    if (!threads)
        return no("tile=%dx%d: variant %s is not compiled for this tile", t->tile_m, t->tile_n, t->variant->name);
    if (t->block && t->block != threads)
        return no("block=%d: a tile of %dx%d requires %d threads", t->block, t->tile_m, t->tile_n, threads);
    t->block = threads;
    return NULL;
}

const char *dg_conv_check_stages(dg_tune *t, int usual, int words, const dg_gpu *gpu)
{
    if (!t->stages) t->stages = usual;
    if (t->stages < 2 || t->stages > 4) return no("stages=%d: must be 2, 3 or 4", t->stages);
    const size_t bytes = (size_t)t->stages * (size_t)words * sizeof(float);
    if (bytes > gpu->shared)
        return no("%d stages need %zu bytes of shared memory (limit %zu)", t->stages, bytes, gpu->shared);
    return NULL;
}

const char *dg_conv_check_split(dg_tune *t, int most, int phases)
{
    if (!t->split) t->split = 1;
    return t->split < 1 || t->split > most || t->split * phases > 65535
               ? no("split=%d: must be from 1 to %d", t->split, most)
               : NULL;
}

const char *dg_conv_check_math(const dg_gpu *gpu)
{
    return gpu->arch && !dg_math_on(gpu->math, gpu->arch) ? dg_variant_refuses_math(gpu) : NULL;
}

const char *dg_conv_check_rounded(const dg_op *op, const dg_tune *t, dg_type real, const dg_gpu *gpu)
{
    const char *why = dg_conv_check(op, t, real);
    if (why) return why;
    return gpu->math == DG_MATH_BF16 ? dg_conv_check_math(gpu)
                                     : no("variant %s rounds its operands: requires precision bf16", t->variant->name);
}

const char *dg_fused_refuses_math(dg_math math, const dg_gpu *gpu)
{
    return math == DG_MATH_FP16 && gpu->arch >= 80 ? "fp16 has no fused kernels from sm_80 on, because bf16 is as fast"
                                                   : NULL;
}

dg_conv_product dg_conv_product_of(dg_op_kind kind, const dg_conv_args *a)
{
    const double pixels = (double)a->N * a->Ho * a->Wo, weights = (double)a->K * a->K * a->Ci;
    if (kind == DG_OP_conv_fwd) return (dg_conv_product){pixels, a->Co, weights, 1, pixels * a->Co};
    if (kind == DG_OP_conv_dw) return (dg_conv_product){a->Co, weights, pixels, 1, a->Co * weights};
    const double taps = dg_ceil_divf(a->K, a->S) * dg_ceil_divf(a->K, a->S);
    return (dg_conv_product){a->N * dg_ceil_divf(a->H, a->S) * dg_ceil_divf(a->W, a->S), a->Ci, taps * a->Co,
                             (double)a->S * a->S, (double)a->N * a->H * a->W * a->Ci};
}

void dg_conv_work(const dg_op *op, dg_type real, dg_work *w)
{
    w->loads *= (double)dg_type_bytes(real) / 4;
    if (w->split <= 1) return;
    w->kernels++;
    w->moved += 4 * 2 * w->split * dg_conv_product_of(op->kind, &op->u.conv).results;
}

size_t dg_conv_count(dg_op_kind kind, const dg_conv_args *a)
{
    const size_t pixels = (size_t)a->N * (size_t)(kind == DG_OP_conv_fwd ? a->Ho * a->Wo : a->H * a->W);
    if (kind == DG_OP_conv_dw) return (size_t)a->Co * (size_t)a->K * (size_t)a->K * (size_t)a->Ci;
    return pixels * (size_t)(kind == DG_OP_conv_fwd ? a->Co : a->Ci);
}

size_t dg_conv_scratch(const dg_op *op, dg_type real)
{
    if (op->tune.split <= 1) return 0;
    return (size_t)op->tune.split * dg_conv_count(op->kind, &op->u.conv) * dg_type_bytes(real);
}

static const char *check_direct(const dg_op *op, dg_tune *t, dg_type real, const dg_gpu *gpu)
{
    const char *why = check_sizes(&op->u.conv, 0);
    if (!why) why = dg_variant_check_sweep(op, t, real, gpu);
    t->split = 1;
    return why;
}

/* Each result has one thread or one warp. Loads of one operand are not counted, because that operand is cached. */
static void direct_work(const dg_op *op, dg_work *w)
{
    const dg_conv_product p = dg_conv_product_of(op->kind, &op->u.conv);
    const double lanes = op->kind == DG_OP_conv_dw && dg_direct_by_warps(&op->u.conv) ? 32 : 1;
    w->blocks = dg_ceil_divf(p.results * lanes, w->threads);
    w->products = p.k * w->threads / lanes;
    w->loads = 4 * p.k * w->threads / lanes;
    w->outputs = 1;
}

const dg_variant dg_conv_variant_direct = {.name = "direct", .check = check_direct, .work = direct_work};
