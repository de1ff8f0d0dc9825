/* The ops of shards in a training step: sums, messages, updates, metrics. */
#include <stdlib.h>

#include "core/group/group.h"
#include "host/net/recipe_parts.h"
#include "host/net/shards_internal.h"

dg_shards *dg_shards_open(dg_builder *b, dg_job *job)
{
    const int all = dg_shards_of(&job->o), ranks = job->o.ranks, own = dg_rank_shards(all, ranks);
    if (all <= 1) return NULL;
    dg_shards *s = calloc(1, sizeof *s);
    if (s) s->grad = calloc((size_t)own, sizeof *s->grad);
    if (!s || !s->grad) {
        job->arena.full = true;
        free(s);
        return NULL;
    }
    s->all = all;
    s->own = own;
    s->ranks = ranks;
    s->group = job->backend->group;
    s->rank = dg_group_rank(s->group);
    s->first = dg_rank_first(all, ranks, s->rank);
    dg_shards_copy(b, &s->grad[0], false);
    for (int k = 1; k < own; k++) {
        for (int net = 0; net < b->model->nets; net++) {
            dg_build_gradients(b, net);
            dg_pad_weights(b, job, net, DG_GRAD, DG_GRAD);
        }
        dg_shards_copy(b, &s->grad[k], false);
    }
    dg_shards_copy(b, &s->grad[0], true);
    return s;
}

void dg_shards_close(dg_shards *s)
{
    if (s) free(s->grad);
    free(s);
}

static void collect(dg_builder *b, const dg_job *job, const char *of, unsigned taken, unsigned cleared)
{
    const dg_shards *s = b->shards;
    dg_op *op = dg_plan_add(b->plan, DG_OP_shard_collect, "%s.shard.metrics", of);
    op->u.shard_collect = (dg_shard_collect_args){.n = DG_METRICS_MAX, .taken = (int)taken, .cleared = (int)cleared};
    dg_bind(op, "x", (dg_view){s->table, (int64_t)(s->first + s->current) * s->each});
    dg_bind_row(op, "ring", job->row[DG_ROW_METRICS]);
    dg_bind_row(op, "state", job->row[DG_ROW_STATE]);
}

void dg_shard_collect(dg_builder *b, const dg_job *job, int net, unsigned metrics)
{
    if (b->shards) collect(b, job, job->model.net[net].name, metrics, 0);
}

static void add_sum(dg_builder *b, const char *net, const char *what, dg_view g, int64_t n, int shards, double factor)
{
    dg_op *op = dg_plan_add(b->plan, DG_OP_shard_sum, "%s.shards.%s", net, what);
    op->u.shard_sum = (dg_shard_sum_args){.n = n, .shards = shards, .factor = factor};
    dg_bind(op, "g", g);
}

/* Append a message of n values from each process to each process. */
static void add_message(dg_builder *b, dg_op_kind kind, const char *net, int64_t n, int x, int g)
{
    dg_op *op = dg_plan_add(b->plan, kind, "%s.shards.%s", net, kind == DG_OP_shard_share ? "share" : "exchange");
    op->u.shard_message = (dg_shard_message_args){.group = b->shards->group, .n = n, .ranks = b->shards->ranks};
    dg_bind_row(op, "x", x);
    if (g >= 0) dg_bind_row(op, "g", g);
}

/* Append the sum over all shards for the own slice of the weights; returns its view. */
static dg_view sum_of_slice(dg_builder *b, const char *net, int g, int64_t length)
{
    const dg_shards *s = b->shards;
    add_sum(b, net, "sum", (dg_view){g, 0}, s->ranks * length, s->own, 1);
    const dg_shape shape = {s->ranks, 1, 1, (int)length};
    const dg_view x = {dg_work_row(b, 0, shape, "%s.shards", net), 0};
    add_message(b, DG_OP_shard_exchange, net, length, x.row, g);
    add_sum(b, net, "slice", x, length, s->ranks, 1.0 / s->all);
    return x;
}

void dg_shards_update(dg_builder *b, dg_job *job, int net, int bad)
{
    dg_shards *s = b->shards;
    const char *name = job->model.net[net].name;
    const dg_weights w = dg_weights_of(job, net);
    const dg_view all = {w.first[DG_GRAD], 0};
    if (!s || s->ranks == 1) {
        if (s) add_sum(b, name, "sum", all, w.n, s->all, 1.0 / s->all);
        dg_add_update(job, b->plan, net, bad, (dg_slice){0, w.n}, all);
        return;
    }
    const int64_t length = dg_slice_length(w.n, s->ranks);
    const dg_slice own = dg_slice_of(w.n, s->ranks, s->rank);
    const dg_view g = sum_of_slice(b, name, w.first[DG_GRAD], length);
    if (own.count) dg_add_update(job, b->plan, net, bad, own, g);
    else s->idle |= 1u << bad;
    add_message(b, DG_OP_shard_share, name, length, w.first[DG_PARAM], -1);
}

void dg_shards_end_plan(dg_builder *b, const dg_job *job, unsigned means, unsigned counts)
{
    dg_shards *s = b->shards;
    if (!s) return;
    for (int k = 0; k < s->own; k++) {
        dg_shard_begin(b, k);
        const unsigned taken = k ? 0 : counts & ~s->idle;
        collect(b, job, "all", taken, counts & ~taken);
    }
    dg_shard_begin(b, 0);
    if (s->ranks > 1) add_message(b, DG_OP_shard_share, "all", (int64_t)s->own * s->each, s->table, -1);
    for (int i = 0; i < s->runnings; i++) {
        const dg_shard_statistics *r = &s->running[i];
        int earlier = 0;
        for (int k = 0; k < i; k++) earlier += s->running[k].mean == r->mean;
        dg_op *op = dg_plan_add(b->plan, DG_OP_shard_running, earlier ? "%.24s.shards.%d" : "%.24s.shards",
                                b->arena->row[r->mean].name, earlier + 1);
        op->u.shard_running = r->a;
        dg_bind_row(op, "running_mean", r->mean);
        dg_bind_row(op, "running_var", r->var);
        dg_bind_row(op, "x", s->table);
    }
    dg_op *op = dg_plan_add(b->plan, DG_OP_shard_metrics, "shards.metrics");
    op->u.shard_metrics =
        (dg_shard_metrics_args){.shards = s->all, .each = s->each, .means = (int)means, .sums = (int)counts};
    dg_bind_row(op, "x", s->table);
    dg_bind_row(op, "ring", job->row[DG_ROW_METRICS]);
    dg_bind_row(op, "state", job->row[DG_ROW_STATE]);
}
