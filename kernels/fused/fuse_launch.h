/* Interface between the files of fused launches: kernel family, launch size, scratch layout. Internal to kernels/. */
#pragma once

#include "kernels/fused/fused.h"
#include "core/base/rng.h"

dg_fused_family dg_fused_family_of(dg_op_kind kind, const dg_conv_args *a, const dg_tune *tune);

/* Return NULL, or the reason why the kernel family cannot run the convolution. */
const char *dg_fused_mma_refuses(dg_op_kind kind, const dg_fused_conv *f, const dg_tune *tune, const dg_gpu *gpu);
const char *dg_fused_thin_refuses(dg_op_kind kind, const dg_fused_conv *f, const dg_tune *tune, const dg_gpu *gpu);
const char *dg_fused_dense_refuses(dg_op_kind kind, const dg_fused_conv *f, const dg_tune *tune, const dg_gpu *gpu);
dg_fused_size dg_fused_mma_size(dg_op_kind kind, const dg_fused_conv *f, const dg_tune *tune);
dg_fused_size dg_fused_thin_size(dg_op_kind kind, const dg_fused_conv *f);
dg_fused_size dg_fused_dense_size(dg_op_kind kind, const dg_fused_conv *f, const dg_tune *tune);

/* Grid of a fused convolution on tensor cores. `blocks` counts the blocks for one column of tiles and one part of a
 * split sum. Each statistics group has `per_group` of these blocks. `channels` is the number of channels in the largest
 * part of a split sum. `merged` is the number of partial sums per statistics group that the epilogue merges. `shared`
 * is the number of bytes of dynamic shared memory. A block loads `joined` bytes of partial sums from the `cluster` - 1
 * other blocks of its cluster. */
typedef struct {
    int groups, per_group, blocks, columns, channels, merged, cluster, joined;
    size_t shared, sum_bytes, part_bytes;
    int sum_counters, part_counters;
} dg_fused_mma_grid;
dg_fused_mma_grid dg_fused_mma_grid_of(dg_op_kind kind, const dg_fused_conv *f, const dg_tune *tune);

/* Returns the number of clusters per statistics group, or 0 if one block merges all partial sums. A cluster has up to
 * DG_EPILOGUE_CLUSTER blocks. The last block of a cluster merges the cluster's partial sums (fuse.cuh). `per_group` is
 * the number of blocks per statistics group and column of tiles. `channels` is the number of channels per tile. */
enum { DG_EPILOGUE_CLUSTER = 16, DG_EPILOGUE_VALUES = 128 * 64 };
static inline DG_HD int dg_epilogue_clusters(int per_group, int groups, int channels)
{
    return (int64_t)per_group * groups * channels <= DG_EPILOGUE_VALUES || per_group <= DG_EPILOGUE_CLUSTER
               ? 0
               : (per_group + DG_EPILOGUE_CLUSTER - 1) / DG_EPILOGUE_CLUSTER;
}
static inline DG_HD size_t dg_parts_bytes(int blocks, int columns, int C)
{
    return ((size_t)blocks * (size_t)(2 * C + columns) * sizeof(float) + 15) / 16 * 16;
}
static inline size_t dg_epilogue_bytes(int per_group, int groups, int columns, int channels, int C)
{
    return dg_parts_bytes(per_group * groups, columns, C) +
           dg_parts_bytes(dg_epilogue_clusters(per_group, groups, channels) * groups, columns, C);
}
static inline DG_HD int dg_epilogue_counters(int per_group, int groups, int channels)
{
    return 1 + dg_epilogue_clusters(per_group, groups, channels) * groups;
}

/* A fused head's scratch memory begins with the loss and the probability of each image. */
enum { DG_HEAD_TERM_BYTES = 2 * sizeof(double) };
static inline int dg_head_channels(int C)
{
    int channels = 4;
    while (channels < C) channels *= 2;
    return channels;
}

static inline const char *dg_fuse_input(const dg_op *op) { return op->kind == DG_OP_conv_fwd ? "x" : "y"; }

/* Sets dg_row.rounded for the tensors that are stored as bf16 (fused.h). `math` is the backend's arithmetic. */
void dg_round_rows(dg_plan *p, dg_math math);

dg_fused_family dg_update_family(const dg_launch *l, const dg_op *dw);

/* If launch l reads rounded weights, adds a plan row for these weights unless the plan already has the row. */
void dg_rounded_row(dg_plan *p, const dg_launch *l);

dg_fused_size dg_fused_size_of(const dg_plan *p, const dg_launch *l);
const char *dg_fused_refuses(const dg_plan *p, const dg_launch *l, const dg_gpu *gpu);
