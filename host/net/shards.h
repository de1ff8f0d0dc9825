/* Shards: a batch of B images is divided into V parts, the shards, whose gradients are computed one after another. A
 * shard has its own batch statistics and its own loss. The gradient of the batch is the mean of the gradients of the
 * shards, added in an order that depends only on V. So several processes can compute different shards, and the bits do
 * not depend on the number of processes (Rajbhandari et al. 2020 divide the update of the weights in the same way).
 *
 * A step has two phases for a GAN, for D and for G, and one phase for a classifier. In each phase the ops of all own
 * shards follow each other, then one op adds their gradients and another op updates the weights. A table with one row
 * per shard collects the batch statistics and the metrics. At the end of the step, the running statistics of batch norm
 * and the metrics of the step are computed from the table.
 *
 * With V = 1, builder.shards is NULL, and the functions below append the ops of a training step without shards. */
#pragma once

#include "host/net/build.h"
#include "host/net/job.h"

typedef struct dg_shards dg_shards;

/* Append the gradient tensors of further shards. Call it after dg_add_parameters of all networks. Returns NULL for one
 * shard. If memory runs out, the arena is marked as full. The caller frees the result by dg_shards_close. */
dg_shards *dg_shards_open(dg_builder *b, dg_job *job);
void dg_shards_close(dg_shards *s);

/* Number of shards of this process, and of the batch. */
int dg_shards_own(const dg_builder *b);
int dg_shards_all(const dg_builder *b);

/* Begin a training plan. groups[n] is the number of groups whose statistics update the running statistics of network n
 * in one step. */
void dg_shards_begin_plan(dg_builder *b, const int groups[DG_NETS_MAX]);

/* The ops that are appended next belong to own shard number k, from 0. After the last shard of a phase, call
 * dg_shards_end_phase. */
void dg_shard_begin(dg_builder *b, int k);
void dg_shards_end_phase(dg_builder *b);

/* Number of the first image (or value) of the current shard in the batch, where each shard has `count` of them. */
int64_t dg_shard_first(const dg_builder *b, int64_t count);

/* Returns the view of `count` values of the current shard in the table. */
dg_view dg_shard_values(dg_builder *b, int count);

/* Note that the statistics of a batch norm, which are mean and rstd at `mean` of the table, update these running
 * statistics. `a` has groups, C, count, eps and momentum. */
void dg_shard_running(dg_builder *b, dg_shard_running_args a, dg_view mean, int running_mean, int running_var);

/* Append an op that copies metrics of the current shard to the table, after the gradients of network `net`. Bit i of
 * `metrics` stands for metric i. */
void dg_shard_collect(dg_builder *b, const dg_job *job, int net, unsigned metrics);

/* Append the sum of the gradients over the shards and the update of network `net`. */
void dg_shards_update(dg_builder *b, dg_job *job, int net, int bad);

/* Append the ops that compute the running statistics, the means of the metrics `means`, and the sums of `counts`. */
void dg_shards_end_plan(dg_builder *b, const dg_job *job, unsigned means, unsigned counts);

/* Returns the number of images that an epoch trains on: the last batch may be dropped, or leave out the remainder of
 * its division by the number of shards. */
int dg_used_images(int images, int batch, int shards, bool drop_last);

/* Returns DG_USAGE if o->batch cannot be divided into o->shards shards, or the shards not among o->ranks processes (0:
 * 1). */
dg_err dg_shards_divide(const dg_job_options *o);
