/* State of the shards while the plans of a job are built. */
#pragma once

#include "host/net/shards.h"

typedef int dg_shard_gradients[DG_MAX_NETS][DG_MAX_LAYERS][DG_LAYER_PARAMETERS];

/* One update of the running statistics of a layer. */
typedef struct {
    dg_shard_running_args a;
    int mean, var;
} dg_shard_statistics;

enum { DG_SHARD_RUNNING_MAX = 3 * DG_MAX_LAYERS };

struct dg_shards {
    int all;
    int own, first; /* shards of this process, and the number of the first one */
    int ranks, rank;
    struct dg_group *group;
    unsigned idle; /* metrics that count weights of networks without a slice for this process */
    int current;   /* own shard whose ops are appended, from 0 */
    int table;     /* arena row of the table (all, each) */
    int each;
    int used, phase;          /* values of a row that are taken, now and at the beginning of the phase */
    dg_shard_gradients *grad; /* arena rows of the gradients of each own shard */
    dg_shard_statistics running[DG_SHARD_RUNNING_MAX];
    int runnings;
};

/* Copy the arena rows of the gradients of a shard to or from the builder. */
void dg_shards_copy(dg_builder *b, dg_shard_gradients *grad, bool to_builder);
