/* Ops of a batch that is divided into shards (host/net/shards.h). ops.h states the conventions. */
#pragma once

#include "core/group/slices.h"

/* Op shard_sum adds tensors as a binary tree: for d = 1, 2, 4 ..., node i receives the sum of nodes i and i + d, for
 * all multiples i of 2 d. The nodes begin as the tensors. `shard_sum` writes factor * (last sum) to tensor 0.
 * shards is a power of two, at most DG_MAX_SHARDS. Shape: g (shards, n), of which the first n values are updated. */
typedef struct {
    void *g;
    int64_t n;
    int shards;
    double factor;
} dg_shard_sum_args;

/* Running statistics of batch norm (dg_norm_stats_args) from the statistics of all shards. Row k of x belongs to shard
 * k: mean (groups, C) begins at value `at`, and rstd (groups, C) follows. The variance of a group is
 * max(0, 1 / rstd^2 - eps) count / (count - 1), where count > 1 is the number of pixels in a group of a shard. One
 * group after another updates r = (1 - momentum) r + momentum s, where s is the mean over all shards of the group's
 * means or variances, summed in double in the order of the shards.
 * Shapes: running_mean, running_var (C), updated in place; x (shards, each). */
typedef struct {
    void *running_mean, *running_var;
    void *x;
    int shards, each, at, groups, C, count;
    double eps, momentum;
} dg_shard_running_args;

/* Op shard_collect writes x[i] = ring[step % DG_RING].value[i] for each bit i of `taken`, and x[i] = 0 for each bit of
 * `cleared`. Shape: x (n), n = DG_METRICS_MAX. */
typedef struct {
    void *x;
    const dg_metrics *ring;
    const dg_step_state *state;
    int n, taken, cleared;
} dg_shard_collect_args;

/* Op shard_metrics writes ring[step % DG_RING].value[i] for each bit i of `means` and `sums`: the mean or the sum over
 * k of x[k][i], computed in double in the order of k. Shape: x (shards, each). */
typedef struct {
    dg_metrics *ring;
    void *x;
    const dg_step_state *state;
    int shards, each, means, sums;
} dg_shard_metrics_args;

/* Messages among the processes of a group (core/group/group.h), which each process makes in the same order. Without a
 * group, ranks = 1. Op shard_exchange sends part r of g to rank r, and stores the part from rank r as x[r]. Op
 * shard_share sends its own part of x to every rank, and stores the parts of the others.
 * Shapes: x, g (ranks, n). */
struct dg_group;
typedef struct {
    void *x;
    void *g;
    struct dg_group *group;
    int64_t n;
    int ranks;
} dg_shard_message_args;
