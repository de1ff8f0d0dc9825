/* Rows of the op table for shards: checks, error limits, cost. */
#include <math.h>
#include <string.h>

#include "core/plan/limits.h"
#include "core/tune/variants.h"
#include "kernels/ops/ops.h"

static const char *sum_complete(dg_op *op)
{
    const int shards = op->u.shard_sum.shards;
    return shards < 1 || shards > DG_MAX_SHARDS || shards & (shards - 1) ? "shards is not a power of two up to 64"
                                                                         : NULL;
}

static double sum_flops(const dg_op *op) { return (double)op->u.shard_sum.n * op->u.shard_sum.shards; }

/* One rounding per level of the tree, and one of the product. */
static double sum_limit(const dg_op_values *v, const dg_check_operand *o, size_t i, double want)
{
    (void)o, (void)want;
    const dg_shard_sum_args *a = &v->op[0]->u.shard_sum;
    double sum = 0;
    for (int k = 0; k < a->shards && i < (size_t)a->n; k++)
        sum += fabs(dg_value_before(v, "g", (size_t)k * (size_t)a->n + i));
    return 8 * v->eps * fabs(a->factor) * sum;
}

const dg_op_info dg_info_shard_sum = {
    .operand = {DG_UPDATED(shard_sum, g, shards, n)},
    .shape = {{"n", DG_FIELD(shard_sum, n)}, {"shards", DG_FIELD(shard_sum, shards)}},
    .complete = sum_complete,
    .flops = sum_flops,
    .variants = {&dg_direct},
    .limit = sum_limit,
};

static double running_flops(const dg_op *op)
{
    const dg_shard_running_args *a = &op->u.shard_running;
    return (double)a->groups * a->C * (6.0 * a->shards + 6);
}

static double running_limit(const dg_op_values *v, const dg_check_operand *o, size_t i, double want)
{
    (void)want;
    const dg_shard_running_args *a = &v->op[0]->u.shard_running;
    const bool mean = !strcmp(o->name, "running_mean");
    double sum = fabs(dg_value_before(v, o->name, i));
    for (int k = 0; k < a->shards; k++)
        for (int g = 0; g < a->groups; g++) {
            const size_t at = (size_t)k * (size_t)a->each + (size_t)(a->at + (g + (mean ? 0 : a->groups)) * a->C) + i;
            const double s = dg_value_before(v, "x", at);
            sum += mean ? fabs(s) : 2 / (s * s) + a->eps;
        }
    return 16 * v->eps * sum;
}

#define SHARDS(args) \
    {"shards", DG_FIELD(args, shards)}, { "each", DG_FIELD(args, each) }

const dg_op_info dg_info_shard_running = {
    .operand = {DG_UPDATED(shard_running, running_mean, C), DG_UPDATED(shard_running, running_var, C),
                DG_INPUT(shard_running, x, shards, each)},
    .shape = {SHARDS(shard_running), {"groups", DG_FIELD(shard_running, groups)}, {"C", DG_FIELD(shard_running, C)}},
    .flops = running_flops,
    .variants = {&dg_direct},
    .limit = running_limit,
};

static double no_flops(const dg_op *op)
{
    (void)op;
    return 0;
}

const dg_op_info dg_info_shard_collect = {
    .operand = {DG_UPDATED(shard_collect, x, n),
                {"ring", offsetof(dg_shard_collect_args, ring), DG_IN, DG_ALL_STEPS, {{0, 0}}, false},
                DG_STEP_READ(shard_collect)},
    .shape = {{"n", DG_FIELD(shard_collect, n)}},
    .flops = no_flops,
    .variants = {&dg_direct},
    .limits = dg_limits_relative,
    .roundings = 1,
};

const dg_op_info dg_info_shard_metrics = {
    .operand = {DG_METRICS_WRITTEN(shard_metrics), DG_INPUT(shard_metrics, x, shards, each),
                DG_STEP_READ(shard_metrics)},
    .shape = {SHARDS(shard_metrics)},
    .flops = no_flops,
    .variants = {&dg_direct},
    .limits = dg_limits_relative,
    .roundings = 1,
};

/* Messages of one connection must have the same order on all ranks. */
static const dg_variant message = {.name = "direct", .check = dg_variant_check_sweep, .exclusive = true};

#define MESSAGE                                                                                                 \
    .shape = {{"n", DG_FIELD(shard_message, n)}, {"ranks", DG_FIELD(shard_message, ranks)}}, .flops = no_flops, \
    .variants = {&message}, .limits = dg_limits_relative

const dg_op_info dg_info_shard_exchange = {
    .operand = {DG_OUTPUT(shard_message, x, ranks, n), DG_INPUT(shard_message, g, ranks, n)},
    MESSAGE,
};

const dg_op_info dg_info_shard_share = {
    .operand = {DG_UPDATED(shard_message, x, ranks, n)},
    MESSAGE,
};
