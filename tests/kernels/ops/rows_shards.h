/* Test cases for the ops of shards. */
#include "op_rows.h"

/* n, shards */
static op_shape sum_shapes[] = {{1, 1}, {3, 2}, {65, 4}, {257, 8}, {100, 16}, {4099, 2}, {33, 64}, {130, 32}};

static void sum_set(dg_op *op, int variation) { op->u.shard_sum.factor = variation ? 1.0 / op->u.shard_sum.shards : 1; }

/* The order of the sum is fixed, so results have equal bits on all backends of a type. */
static op_bound sum_bound(const dg_op *want, const char *result, double eps)
{
    (void)result;
    return (op_bound){8 * eps, 8 * eps * want->u.shard_sum.shards * op_largest(want, "g")};
}

static const op_row row_shard_sum = {.variations = 2,
                                     OP_SHAPES(sum_shapes),
                                     .threads = {{20011, 4}, {3011, 4}},
                                     .set = sum_set,
                                     .bound = sum_bound,
                                     .nan_untested = "g"};

/* shards, values per shard, groups, C, first value of the mean */
static op_shape running_shapes[] = {
    {1, 2, 1, 1, 0}, {2, 19, 1, 3, 11}, {4, 140, 2, 33, 7}, {8, 1030, 2, 257, 2}, {64, 90, 3, 13, 10}};

static void running_set(dg_op *op, int variation)
{
    (void)variation;
    dg_shard_running_args *a = &op->u.shard_running;
    a->at = op_more[0];
    a->eps = 1e-5;
    a->momentum = 0.1;
    a->count = 7;
    op_fill(op, "x", 0.5, 1);
    op_fill(op, "running_var", 0.5, 1);
}

static op_bound running_bound(const dg_op *want, const char *result, double eps)
{
    const dg_shard_running_args *a = &want->u.shard_running;
    return (op_bound){16 * eps, 16 * eps * a->groups * (strcmp(result, "running_mean") ? 8 : 2)};
}

static const op_row row_shard_running = {OP_SHAPES(running_shapes), .threads = {{4, 300, 1, 100, 3}, {4, 30, 1, 11, 3}},
                                         .set = running_set, .bound = running_bound};

/* n, step */
static op_shape collect_shapes[] = {{DG_METRICS_MAX, 3}, {DG_METRICS_MAX, 1400}};

static void collect_set(dg_op *op, int variation)
{
    op_state.step = (uint64_t)op_more[0];
    op->u.shard_collect.taken = variation ? 0x5a : 0;
    op->u.shard_collect.cleared = variation ? 0x205 : 0x3ff;
    for (int i = 0; i < DG_METRICS_MAX; i++) *op_metric(i) = 1.5 + i;
}

static const op_row row_shard_collect = {.variations = 2,
                                         OP_SHAPES(collect_shapes),
                                         .threads = {{DG_METRICS_MAX, 5}, {DG_METRICS_MAX, 5}},
                                         .set = collect_set,
                                         .within = {1, 0},
                                         .nan_untested = "all"};

/* shards, values per shard, step */
static op_shape metrics_shapes[] = {{1, 10, 3}, {4, 37, 700}, {64, 12, 2100}};

static void metrics_set(dg_op *op, int variation)
{
    (void)variation;
    dg_shard_metrics_args *a = &op->u.shard_metrics;
    op_state.step = (uint64_t)op_more[0];
    a->means = 0x15a;
    a->sums = 0x205;
}

static op_bound metrics_bound(const dg_op *want, const char *result, double eps)
{
    (void)result, (void)eps;
    return (op_bound){DBL_EPSILON, want->u.shard_metrics.shards * DBL_EPSILON * op_largest(want, "x")};
}

static const op_row row_shard_metrics = {OP_SHAPES(metrics_shapes), .threads = {{4, 12, 5}, {4, 12, 5}},
                                         .set = metrics_set, .bound = metrics_bound, .nan_untested = "all"};

/* n, ranks. tests/cli/ranks.sh tests messages. */
static op_shape message_shapes[] = {{1, 1}, {67, 1}, {4099, 1}};

static const op_row row_shard_exchange = {OP_SHAPES(message_shapes), .threads = {{4099, 1}, {300, 1}}};
static const op_row row_shard_share = {OP_SHAPES(message_shapes), .threads = {{4099, 1}, {300, 1}}};
