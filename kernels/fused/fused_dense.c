/* Limits and scratch size of fused dense convolutions (the first layer of G). */
#include "core/base/math.h"
#include "core/tune/conv_tiles.h"
#include "kernels/fused/fuse_launch.h"

const char *dg_fused_dense_refuses(dg_op_kind kind, const dg_fused_conv *f, const dg_tune *tune, const dg_gpu *gpu)
{
    (void)tune, (void)gpu;
    const dg_conv_args *a = &f->conv, flat = dg_conv_flat(a);
    if (kind != DG_OP_conv_dx || flat.K != 1 || flat.H != 1 || flat.W != 1 || flat.P)
        return "variant dense supports only data gradients whose y has one pixel";
    const int C = dg_conv_channels(a);
    if (C % 4) return "variant dense requires a multiple of 4 channels";
    if ((double)dg_conv_pixels(a) > 65535 || dg_ceil_div(C, DG_DENSE_CHANNELS) > 65535) return "too many blocks";
    if (f->in.kind != DG_PROLOGUE_PLAIN || f->gather.N) return "variant dense reads latents only, without a prologue";
    if (f->noise.n && f->noise.n != (int64_t)a->N * a->Co)
        return "the noise and the output of variant dense differ in size";
    if (f->out.kind == DG_EPILOGUE_ACT_DX || f->out.kind == DG_EPILOGUE_NORM_DX)
        return "variant dense supports the forward pass only";
    return f->out.groups == 1 ? NULL : "variant dense supports statistics of one group only";
}

dg_fused_size dg_fused_dense_size(dg_op_kind kind, const dg_fused_conv *f, const dg_tune *tune)
{
    (void)kind, (void)tune;
    const dg_conv_args *a = &f->conv;
    const int C = dg_conv_channels(a), blocks = dg_conv_pixels(a) * dg_ceil_div(a->N, DG_DENSE_IMAGES),
              columns = dg_ceil_div(C, DG_DENSE_CHANNELS);
    if (f->out.kind != DG_EPILOGUE_STATS) return (dg_fused_size){0, 0};
    return (dg_fused_size){dg_epilogue_bytes(blocks, 1, columns, DG_DENSE_CHANNELS, C),
                           columns * dg_epilogue_counters(blocks, 1, DG_DENSE_CHANNELS)};
}
