/* Limits and scratch size of fused convolutions of images (kernel family thin). */
#include "core/base/math.h"
#include "core/plan/gather.h"
#include "kernels/fused/fuse_launch.h"
#include "kernels/ops/conv/cuda/conv_rows.h"

static const char *fwd_refuses(const dg_fused_conv *f)
{
    const dg_conv_args *a = &f->conv;
    const dg_gather_args *g = &f->gather;
    if (f->in.kind != DG_PROLOGUE_PLAIN) return "variant thin reads images without a prologue";
    if (f->out.kind == DG_EPILOGUE_STATS) return "variant thin does not compute statistics";
    if (f->out.groups < 1 || a->N % f->out.groups) return "groups must be equal parts of the batch";
    if ((double)dg_ceil_div(a->Ho, DG_THIN_TILE_ROWS) * dg_ceil_div(a->Wo, DG_THIN_TILE_COLS) > 65535 ||
        dg_ceil_div(a->Co, DG_THIN_TILE_CHANNELS) > 65535)
        return "too many blocks";
    if (g->N && (g->N > a->N || g->H != a->H || g->W != a->W || g->C != a->Ci))
        return "the size of the images differs from the input size of the convolution";
    if (g->N && !dg_gather_is_signed(g))
        return "variant thin reads only images with values from -1 to 1, in records without labels";
    return NULL;
}

static const char *dx_refuses(const dg_fused_conv *f, const dg_tune *tune, const dg_gpu *gpu)
{
    if (f->in.kind == DG_PROLOGUE_NORM_DX) return "variant thin does not read the norm's gradient";
    if (f->in.kind == DG_PROLOGUE_NORM && f->in.groups != 1)
        return "variant thin supports a norm in its prologue only with one group";
    if (f->out.kind == DG_EPILOGUE_STATS || f->out.kind == DG_EPILOGUE_NORM_DX)
        return "the data gradient of variant thin supports neither statistics nor the gradient of a norm in its "
               "epilogue";
    if (f->gather.N) return "a data gradient does not read images";
    if (tune->variant->fused == DG_FUSED_THIN_MMA) return NULL;
    const int words = tune->stages * dg_thin_dx_tile_of(&f->conv).words + 2 * f->conv.Co;
    return (size_t)words * sizeof(float) > gpu->shared ? "too many channels or stages for a block's shared memory"
                                                       : NULL;
}

const char *dg_fused_thin_refuses(dg_op_kind kind, const dg_fused_conv *f, const dg_tune *tune, const dg_gpu *gpu)
{
    if (f->noise.n) return "variant thin does not draw noise";
    return kind == DG_OP_conv_fwd ? fwd_refuses(f) : dx_refuses(f, tune, gpu);
}

dg_fused_size dg_fused_thin_size(dg_op_kind kind, const dg_fused_conv *f)
{
    const dg_conv_args *a = &f->conv;
    if (kind != DG_OP_conv_fwd || f->out.kind != DG_EPILOGUE_NORM_DX) return (dg_fused_size){0, 0};
    /* block tile: 4 x 32 pixels, 32 channels (conv_thin_patch.cuh) */
    const int groups = f->out.groups, per_group = a->N / groups * dg_ceil_div(a->Ho, 4) * dg_ceil_div(a->Wo, 32),
              columns = dg_ceil_div(a->Co, 32);
    return (dg_fused_size){dg_epilogue_bytes(per_group, groups, columns, 32, a->Co),
                           columns * dg_epilogue_counters(per_group, groups, 32)};
}
