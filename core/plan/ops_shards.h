/* Ops of a batch that is divided into shards (host/net/shards.h). ops.h states the conventions. */
#pragma once

/* Op shard_sum adds tensors as a binary tree: for d = 1, 2, 4 ..., node i receives the sum of nodes i and i + d, for
 * all multiples i of 2 d. The nodes begin as the tensors. `shard_sum` writes factor * (last sum) to tensor 0.
 * shards is a power of two, at most DG_SHARDS_MAX. Shape: g (shards, n), of which the first n values are updated. */
enum { DG_SHARDS_MAX = 64 };
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
 * k of x[k][at + i], computed in double in the order of k. Shape: x (shards, each). */
typedef struct {
    dg_metrics *ring;
    void *x;
    const dg_step_state *state;
    int shards, each, at, means, sums;
} dg_shard_metrics_args;
