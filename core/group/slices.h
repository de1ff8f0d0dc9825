/* How a group divides a training step: V shards of the batch, W ranks, and a slice of the weights per rank.
 *
 * The gradient of a step is the root of a fixed binary tree over the gradients of the shards:
 *     node(i, 1) = leaf i, node(i, 2 d) = node(i, d) + node(i + d, d), d = 1, 2, 4, ...
 * Rank r has the k = V / W shards from r k on, whose gradients are a whole subtree. A rank adds its own k leaves first,
 * and then, for its slice of the weights, the W subtrees of all ranks. Both sums are op shard_sum, and together they
 * are the additions of the whole tree. Therefore the bits of the gradient depend on V only. */
#pragma once

#include <stdint.h>

#include "core/base/err.h"

enum {
    DG_MAX_SHARDS = 64,
    DG_SLICE_PIECE = 4096 /* values; a slice is a multiple of it, so that optimizers cut a slice like whole weights */
};

/* Returns DG_OK if `shards` is a power of two from 1 to DG_MAX_SHARDS and `ranks` divides `shards`, else DG_USAGE. */
dg_err dg_shards_check(int shards, int ranks);

/* Number of a rank's shards, and its first shard. */
static inline int dg_rank_shards(int shards, int ranks) { return shards / ranks; }
static inline int dg_rank_first(int shards, int ranks, int rank) { return rank * (shards / ranks); }

/* Part of `n` values. */
typedef struct {
    int64_t first, count;
} dg_slice;

/* Returns the length of each slice of n values in a buffer for `ranks` slices: a multiple of DG_SLICE_PIECE. */
int64_t dg_slice_length(int64_t n, int ranks);

/* Returns a rank's slice, without the padding: the slices of all ranks are consecutive and end at n. The count of the
 * last slices may be 0. */
dg_slice dg_slice_of(int64_t n, int ranks, int rank);
