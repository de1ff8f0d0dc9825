/* Limits and scratch size of the fused last layer of D. */
#include "kernels/fused/fuse_launch.h"

const char *dg_fused_head_refuses(const dg_fused_head *h)
{
    if (h->N < 1 || h->pixels < 1 || h->C < 4 || h->C % 4)
        return "the fused last layer of D requires a multiple of 4 channels";
    if ((double)h->pixels * h->C > 2147483647.0) return "the input of the fused last layer of D is too large";
    if (h->losses < 1 || h->losses > 2 || h->N % h->losses)
        return "the fused last layer of D requires one or two losses for equal parts of the batch";
    if (h->in.kind == DG_PROLOGUE_NORM_DX) return "the fused last layer of D does not read the gradient of a norm";
    if (h->in.groups < 1 || h->N % h->in.groups)
        return "the groups of the fused last layer of D must be equal parts of the batch";
    switch (h->out.kind) {
    case DG_EPILOGUE_NORM_DX:
        return h->in.kind == DG_PROLOGUE_NORM && h->in.groups == h->out.groups
                   ? NULL
                   : "the fused last layer of D computes the gradient of a norm only if its prologue applies this "
                     "norm, with the same groups";
    case DG_EPILOGUE_ACT_DX:
    case DG_EPILOGUE_PLAIN: return NULL;
    case DG_EPILOGUE_ACT:
    case DG_EPILOGUE_STATS: break;
    }
    return "the result of the fused last layer of D must be a gradient";
}

dg_fused_size dg_fused_head_size(const dg_fused_head *h)
{
    const size_t terms = DG_HEAD_TERM_BYTES * (size_t)h->N;
    if (h->out.kind != DG_EPILOGUE_NORM_DX) return (dg_fused_size){terms, 1};
    const int per_group = h->N / h->out.groups, channels = dg_head_channels(h->C);
    return (dg_fused_size){terms + dg_epilogue_bytes(per_group, h->out.groups, 1, channels, h->C),
                           dg_epilogue_counters(per_group, h->out.groups, channels)};
}
