/* Plan names, dataset records, and the arena rows that all jobs have. */
#include "core/plan/optimizer.h"
#include "host/net/job.h"

#include <stdlib.h>
#include <string.h>

#include "core/group/group.h"

const char *const dg_plan_role_name[DG_PLANS] = {"train", "train-short", "sample", "test", "statistics"};

const dg_plan *dg_job_plan(const dg_job *job, const char *name)
{
    for (int i = 0; i < DG_PLANS; i++)
        if (job->plan[i].ops && !strcmp(dg_plan_role_name[i], name)) return &job->plan[i];
    return NULL;
}

static size_t pixels_of(const dg_model *m) { return dg_size_values(m->size, m->channels); }

int dg_job_labels(const dg_job *job)
{
    const dg_net *last = &job->model.net[job->model.nets - 1];
    return job->recipe->labels ? last->layer[last->layers - 1].out.C : job->model.classes;
}

size_t dg_job_record_bytes(const dg_job *job)
{
    const size_t value = job->model.input == DG_INPUT_ZCA ? dg_type_bytes(job->backend->real) : 1;
    return pixels_of(&job->model) * value + (dg_job_labelled(job) ? sizeof(int32_t) : 0);
}

/* Scale pixels to -1..1, for jobs without a whitening (bench, check). */
static void put_signed(const dg_job *job, const uint8_t *pixels, int count, uint8_t *out, size_t record)
{
    const size_t n = pixels_of(&job->model);
    for (size_t k = 0; k < (size_t)count; k++)
        for (size_t i = 0; i < n; i++) {
            const double v = pixels[k * n + i] / 127.5 - 1;
            const float narrow = (float)v;
            if (job->backend->real == DG_F32) memcpy(out + k * record + i * sizeof narrow, &narrow, sizeof narrow);
            else memcpy(out + k * record + i * sizeof v, &v, sizeof v);
        }
}

static dg_err put_images(const dg_job *job, const uint8_t *pixels, int count, uint8_t *out)
{
    const size_t record = dg_job_record_bytes(job), n = pixels_of(&job->model);
    const dg_backend *b = job->backend;
    if (job->model.input != DG_INPUT_ZCA)
        for (size_t i = 0; i < (size_t)count; i++) memcpy(out + i * record, pixels + i * n, n);
    else if (job->o.input.whitening)
        return dg_whiten(job->o.input.whitening, b->real, b->threads, pixels, count, out, record);
    else put_signed(job, pixels, count, out, record);
    return DG_OK;
}

dg_err dg_job_records(const dg_job *job, const uint8_t *pixels, const int32_t *label, int count, uint8_t **out)
{
    const size_t record = dg_job_record_bytes(job);
    const int classes = dg_job_labels(job);
    *out = malloc((size_t)count * record);
    dg_err e = *out ? put_images(job, pixels, count, *out) : dg_fail(DG_DEVICE, "out of memory for %d images", count);
    for (int i = 0; !e && i < count && dg_job_labelled(job); i++) {
        const int32_t class = label ? label[i] : i % classes;
        memcpy(*out + (size_t)(i + 1) * record - sizeof class, &class, sizeof class);
    }
    if (!e) return DG_OK;
    free(*out);
    *out = NULL;
    return e;
}

dg_err dg_job_view(const dg_job *job, const dg_images *images, const int32_t *label, uint8_t **ready,
                   dg_training_records *out)
{
    *ready = NULL;
    *out = (dg_training_records){.images = *images,
                                 .label = dg_job_labelled(job) ? label : NULL,
                                 .bytes = dg_job_record_bytes(job),
                                 .count = images->count};
    if (job->model.input != DG_INPUT_ZCA) return DG_OK;
    const dg_err e = dg_job_records(job, images->memory, label, images->count, ready);
    out->data = *ready;
    return e;
}

dg_loader_options dg_job_loading(const dg_job *job, int used, uint64_t seed)
{
    const int shards = dg_shards_of(&job->o), ranks = job->o.ranks > 0 ? job->o.ranks : 1, own = shards / ranks;
    return (dg_loader_options){.batch = job->o.batch,
                               .used = used,
                               .window = job->o.window,
                               .shards = shards,
                               .first_shard = own * dg_group_rank(job->backend->group),
                               .own = own,
                               .seed = seed};
}

static dg_shape data_shape(const dg_job *job)
{
    const dg_model *m = &job->model;
    const dg_loader_options loading = dg_job_loading(job, 0, 0);
    const int rows = job->o.window ? 2 * dg_window_images(&loading) : job->o.rows;
    if (!dg_job_labelled(job)) return dg_size_shape(rows, m->size, m->channels);
    return (dg_shape){rows, 1, 1, (int)dg_job_record_bytes(job)};
}

void dg_job_rows(dg_job *job)
{
    dg_arena *a = &job->arena;
    const dg_shape state = {1, 1, 1, (int)sizeof(dg_step_state)}, metrics = {1, 1, DG_RING, DG_METRICS_MAX},
                   images = data_shape(job);
    job->row[DG_ROW_STATE] = dg_arena_row(a, "state", DG_STATE, 0, DG_U8, state);
    job->row[DG_ROW_METRICS] = dg_arena_row(a, "metrics", DG_STATE, 0, DG_F64, metrics);
    job->row[DG_ROW_DATA] = dg_arena_row(a, "data", DG_OUTSIDE, 0, DG_U8, images);
    job->row[DG_ROW_PERM] = dg_arena_row(a, "permutation", DG_OUTSIDE, 0, DG_I32, (dg_shape){1, 1, 1, job->o.rows});
}

static uint64_t mixed(uint64_t hash, uint64_t value) { return (hash ^ value) * 1099511628211u; } /* FNV-1a */

static uint64_t hash_text(uint64_t hash, const char *text)
{
    while (*text) hash = mixed(hash, (unsigned char)*text++);
    return hash;
}

uint64_t dg_job_plans(const dg_job *job)
{
    uint64_t hash = 14695981039346656037u;
    if (job->backend->threads) return 0;
    for (int k = 0; k < DG_PLANS; k++) {
        const dg_plan *p = &job->plan[k];
        if (k != DG_PLAN_TRAIN && k != DG_PLAN_TRAIN_SHORT) continue; /* rank 0 has other plans, too */
        for (int i = 0; i < p->ops; i++) {
            const dg_op *op = &p->op[i];
            const dg_tune *t = &op->tune;
            if (dg_is_update(op->kind)) continue; /* a rank may have no slice of the weights */
            hash = hash_text(hash_text(hash, op->name), t->variant ? t->variant->name : "");
            const int number[] = {t->block, t->tile_m, t->tile_n, t->stages, t->split, (int)t->math};
            for (size_t n = 0; n < sizeof number / sizeof *number; n++) hash = mixed(hash, (uint64_t)number[n]);
            hash = mixed(hash, dg_plan_fused(p, i));
        }
    }
    return hash;
}

uint64_t dg_job_kernels(const dg_job *job) { return job->o.shards > 1 ? 0 : dg_job_plans(job); }
