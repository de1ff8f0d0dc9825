#include "host/net/shards.h"

#include <stdlib.h>
#include <string.h>

#include "host/net/recipe_parts.h"

typedef int gradients[DG_MAX_NETS][DG_MAX_LAYERS][DG_LAYER_PARAMETERS];

/* One update of the running statistics of a layer. */
typedef struct {
    dg_shard_running_args a;
    int mean, var;
} running;

enum { RUNNING_MAX = 3 * DG_MAX_LAYERS };

struct dg_shards {
    int all;
    int current; /* own shard whose ops are appended */
    int table;   /* arena row of the table (all, each) */
    int each;
    int used, phase; /* values of a row that are taken, now and at the beginning of the phase */
    gradients *grad; /* arena rows of the gradients of each own shard */
    running running[RUNNING_MAX];
    int runnings;
};

dg_err dg_shards_check(const dg_job_options *o)
{
    const int shards = dg_shards_of(o);
    if (shards > DG_SHARDS_MAX || shards & (shards - 1))
        return dg_fail(DG_USAGE, DG_MSG("bad-shards", "{shards} %d: not a power of two from 1 to %d"), shards,
                       DG_SHARDS_MAX);
    if (o->batch % shards)
        return dg_fail(DG_USAGE,
                       DG_MSG("batch-not-shards",
                              "{batch} %d: cannot be divided into %d shards; give a multiple of %d, or another "
                              "{shards}"),
                       o->batch, shards, shards);
    return DG_OK;
}

int dg_used_images(int images, int batch, int shards, bool drop_last)
{
    const int last = images % batch;
    return images - (drop_last ? last : last % shards);
}

static void copy_gradients(dg_builder *b, gradients *grad, bool to_builder)
{
    for (int net = 0; net < b->model->nets; net++)
        for (int i = 0; i < b->model->net[net].layers; i++) {
            int *const own = b->rows[net][i].grad, *const saved = (*grad)[net][i];
            if (to_builder) memcpy(own, saved, sizeof b->rows[net][i].grad);
            else memcpy(saved, own, sizeof b->rows[net][i].grad);
        }
}

dg_shards *dg_shards_open(dg_builder *b, dg_job *job)
{
    const int all = dg_shards_of(&job->o);
    if (all <= 1) return NULL;
    dg_shards *s = calloc(1, sizeof *s);
    if (s) s->grad = calloc((size_t)all, sizeof *s->grad);
    if (!s || !s->grad) {
        job->arena.full = true;
        free(s);
        return NULL;
    }
    s->all = all;
    copy_gradients(b, &s->grad[0], false);
    for (int k = 1; k < all; k++) {
        for (int net = 0; net < b->model->nets; net++) dg_build_gradients(b, net);
        copy_gradients(b, &s->grad[k], false);
    }
    copy_gradients(b, &s->grad[0], true);
    return s;
}

void dg_shards_close(dg_shards *s)
{
    if (s) free(s->grad);
    free(s);
}

int dg_shards_own(const dg_builder *b) { return b->shards ? b->shards->all : 1; }
int dg_shards_all(const dg_builder *b) { return b->shards ? b->shards->all : 1; }

void dg_shards_begin_plan(dg_builder *b, const int groups[DG_NETS_MAX])
{
    dg_shards *s = b->shards;
    if (!s) return;
    s->each = DG_METRICS_MAX;
    for (int net = 0; net < b->model->nets; net++)
        for (int i = 0; i < b->model->net[net].layers; i++) {
            const dg_layer *l = &b->model->net[net].layer[i];
            if (l->norm == DG_NORM_BATCH) s->each += 2 * groups[net] * l->filters;
        }
    s->table = dg_work_row(b, 0, (dg_shape){s->all, 1, 1, s->each}, "shards");
    s->used = s->phase = DG_METRICS_MAX;
    s->runnings = 0;
}

void dg_shard_begin(dg_builder *b, int k)
{
    dg_shards *s = b->shards;
    if (!s) return;
    s->current = b->arena->shard = k;
    s->used = s->phase;
    copy_gradients(b, &s->grad[k], true);
}

void dg_shards_end_phase(dg_builder *b)
{
    dg_shards *s = b->shards;
    if (!s) return;
    const int used = s->used;
    dg_shard_begin(b, 0);
    s->phase = used;
}

int64_t dg_shard_first(const dg_builder *b, int64_t count) { return b->shards ? b->shards->current * count : 0; }

static dg_view at(const dg_shards *s, int shard, int value)
{
    return (dg_view){s->table, (int64_t)shard * s->each + value};
}

dg_view dg_shard_values(dg_builder *b, int count)
{
    dg_shards *s = b->shards;
    const dg_view v = at(s, s->current, s->used);
    s->used += count;
    return v;
}

void dg_shard_running(dg_builder *b, dg_shard_running_args a, dg_view mean, int running_mean, int running_var)
{
    dg_shards *s = b->shards;
    if (s->current) return;
    a.shards = s->all;
    a.each = s->each;
    a.at = (int)mean.offset;
    s->running[s->runnings++] = (running){a, running_mean, running_var};
}

static void collect(dg_builder *b, const dg_job *job, const char *name, unsigned taken, unsigned cleared)
{
    dg_op *op = dg_plan_add(b->plan, DG_OP_shard_collect, "%s", name);
    op->u.shard_collect = (dg_shard_collect_args){.n = DG_METRICS_MAX, .taken = (int)taken, .cleared = (int)cleared};
    dg_bind(op, "x", at(b->shards, b->shards->current, 0));
    dg_bind_row(op, "ring", job->row[DG_ROW_METRICS]);
    dg_bind_row(op, "state", job->row[DG_ROW_STATE]);
}

void dg_shard_collect(dg_builder *b, const dg_job *job, unsigned metrics)
{
    if (b->shards) collect(b, job, "shard.metrics", metrics, 0);
}

void dg_shards_update(dg_builder *b, dg_job *job, int net, int bad)
{
    if (b->shards) {
        const dg_weights w = dg_weights_of(job, net);
        dg_op *op = dg_plan_add(b->plan, DG_OP_shard_sum, "%s.shards.sum", job->model.net[net].name);
        op->u.shard_sum = (dg_shard_sum_args){.n = w.n, .shards = b->shards->all, .factor = 1.0 / b->shards->all};
        dg_bind_row(op, "g", w.first[DG_GRAD]);
    }
    dg_add_update(job, b->plan, net, bad);
}

void dg_shards_end_plan(dg_builder *b, const dg_job *job, unsigned means, unsigned counts)
{
    dg_shards *s = b->shards;
    if (!s) return;
    for (int k = 0; k < s->all; k++) {
        dg_shard_begin(b, k);
        collect(b, job, "shard.counts", k ? 0 : counts, k ? counts : 0);
    }
    dg_shard_begin(b, 0);
    for (int i = 0; i < s->runnings; i++) {
        const running *r = &s->running[i];
        dg_op *op = dg_plan_add(b->plan, DG_OP_shard_running, "%.24s.shards", b->arena->row[r->mean].name);
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
