#include "host/net/shards_internal.h"

#include <string.h>

dg_err dg_shards_divide(const dg_job_options *o)
{
    const int shards = dg_shards_of(o);
    const dg_err e = dg_shards_check(shards, o->ranks > 1 ? o->ranks : 1);
    if (e || o->batch % shards == 0) return e;
    return dg_fail(DG_USAGE,
                   DG_MSG("batch-not-shards",
                          "{batch} %d: cannot be divided into %d shards; give a multiple of %d, or another {shards}"),
                   o->batch, shards, shards);
}

void dg_shards_copy(dg_builder *b, dg_shard_gradients *grad, bool to_builder)
{
    for (int net = 0; net < b->model->nets; net++)
        for (int i = 0; i < b->model->net[net].layers; i++) {
            int *const own = b->rows[net][i].grad, *const saved = (*grad)[net][i];
            if (to_builder) memcpy(own, saved, sizeof b->rows[net][i].grad);
            else memcpy(saved, own, sizeof b->rows[net][i].grad);
        }
}

int dg_used_images(int images, int batch, int shards, bool drop_last)
{
    const int last = images % batch;
    return images - (drop_last ? last : last % shards);
}

int dg_shards_own(const dg_builder *b) { return b->shards ? b->shards->own : 1; }
int dg_shards_all(const dg_builder *b) { return b->shards ? b->shards->all : 1; }

/* Each shard's values in the table begin at a multiple of 32 bytes, because kernels load four values at a time. */
static int aligned(int values) { return (values + 7) / 8 * 8; }

void dg_shards_begin_plan(dg_builder *b, const int groups[DG_NETS_MAX])
{
    dg_shards *s = b->shards;
    if (!s) return;
    s->each = aligned(DG_METRICS_MAX);
    for (int net = 0; net < b->model->nets; net++)
        for (int i = 0; i < b->model->net[net].layers; i++) {
            const dg_layer *l = &b->model->net[net].layer[i];
            if (l->norm == DG_NORM_BATCH) s->each += groups[net] * aligned(2 * l->filters);
        }
    s->table = dg_work_row(b, 0, (dg_shape){s->all, 1, 1, s->each}, "shards");
    s->used = s->phase = aligned(DG_METRICS_MAX);
    s->runnings = 0;
    s->idle = 0;
}

void dg_shard_begin(dg_builder *b, int k)
{
    dg_shards *s = b->shards;
    if (!s) return;
    s->current = b->arena->shard = k;
    s->used = s->phase;
    dg_shards_copy(b, &s->grad[k], true);
}

void dg_shards_end_phase(dg_builder *b)
{
    dg_shards *s = b->shards;
    if (!s) return;
    const int used = s->used;
    dg_shard_begin(b, 0);
    s->phase = used;
}

int64_t dg_shard_first(const dg_builder *b, int64_t count)
{
    return b->shards ? (b->shards->first + b->shards->current) * count : 0;
}

dg_view dg_shard_values(dg_builder *b, int count)
{
    dg_shards *s = b->shards;
    const dg_view v = {s->table, (int64_t)(s->first + s->current) * s->each + s->used};
    s->used += aligned(count);
    return v;
}

void dg_shard_running(dg_builder *b, dg_shard_running_args a, dg_view mean, int running_mean, int running_var)
{
    dg_shards *s = b->shards;
    if (s->current) return;
    a.shards = s->all;
    a.each = s->each;
    a.at = (int)(mean.offset % s->each);
    s->running[s->runnings++] = (dg_shard_statistics){a, running_mean, running_var};
}
