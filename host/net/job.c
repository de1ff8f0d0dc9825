#include "host/net/job.h"

#include <stdlib.h>
#include <string.h>

#include "host/net/gan_build.h"
#include "core/base/rng.h"

static int plans_of(dg_job *job, dg_plan *out[3])
{
    int n = 0;
    dg_plan *const all[] = {&job->train, &job->train_short, &job->sample};
    for (int i = 0; i < 3; i++)
        if (all[i]->ops) out[n++] = all[i];
    return n;
}

/* What a batch size can do to a model: counts that an int cannot hold, norms over a single value. */
static dg_err check_sizes(const dg_model *model, const dg_job_options *o)
{
    double pictures = o->train && 2 * (double)o->batch > o->samples ? 2 * (double)o->batch : o->samples;
    int least = o->last_batch ? o->last_batch : o->batch;
    for (int net = 0; net < 2; net++) {
        for (int i = 0; i < model->net[net].layers; i++) {
            const dg_layer *l = &model->net[net].layer[i];
            double n = (double)dg_count(l->out) * pictures;
            if (n > 1 << 28)
                return dg_fail(DG_USAGE,
                               "--batch %d: layer %s of model %s would have %.0f million values; use a smaller batch",
                               o->batch, l->name, model->name, n / 1e6);
            if (o->train && l->norm && least * l->out.H * l->out.W < 2)
                return dg_fail(DG_USAGE,
                               "layer %s of model %s: batch norm over a batch of %d needs more than one value a "
                               "channel; use another --batch or --drop-last",
                               l->name, model->name, least);
        }
    }
    return DG_OK;
}

dg_err dg_job_build(dg_job *job, const dg_model *model, const dg_job_options *o, dg_backend *b)
{
    memset(job, 0, sizeof *job);
    job->model = *model;
    job->o = *o;
    job->backend = b;
    job->tensor = calloc((size_t)2 * DG_MAX_LAYERS * 5, sizeof *job->tensor);
    if (!job->tensor) return dg_fail(DG_DEVICE, "out of memory while planning");
    dg_err e = dg_gan_check_model(model);
    if (!e) e = check_sizes(model, o);
    if (e) {
        dg_job_free(job);
        return e;
    }
    dg_gan_build_plans(job);
    for (int i = 0; i < job->arena.rows && o->apart; i++)
        if (job->arena.row[i].kind == DG_WORK) job->arena.row[i].keep = true;
    dg_plan *plan[3];
    e = dg_arena_place(&job->arena, plan, plans_of(job, plan), b);
    if (e) dg_job_free(job);
    return e;
}

dg_err dg_job_alloc(dg_job *job, const uint8_t *data, const int32_t *perm)
{
    dg_err e = dg_arena_alloc(&job->arena, job->backend);
    if (e) return e;
    /* the ops only read these two; the row's pointer serves written memory as well, hence not const */
    if (job->row_data >= 0) memcpy(&job->arena.row[job->row_data].outside, &data, sizeof data);
    if (job->row_perm >= 0) memcpy(&job->arena.row[job->row_perm].outside, &perm, sizeof perm);
    dg_plan *plan[3];
    for (int i = 0, n = plans_of(job, plan); i < n; i++) {
        e = dg_plan_bind(plan[i]);
        if (e) return e;
    }
    return DG_OK;
}

void dg_job_free(dg_job *job)
{
    dg_plan_free(&job->train);
    dg_plan_free(&job->train_short);
    dg_plan_free(&job->sample);
    if (job->backend) dg_arena_free(&job->arena, job->backend);
    free(job->tensor);
    memset(job, 0, sizeof *job);
}

static void *row_memory(const dg_job *job, int row) { return (char *)job->arena.base + job->arena.row[row].offset; }

static size_t tensor_count(const dg_job_tensor *t)
{
    size_t n = 1;
    for (int i = 0; i < t->rank; i++) n *= (size_t)t->dim[i];
    return n;
}

/* Move between memory order (Co, K, K, Ci) and PyTorch's (Co, Ci, K, K), converting the type; vectors are
 * copied. to_file: from arena order into file order. */
static void permute(const dg_job_tensor *t, void *dst, dg_type dst_type, const void *src, dg_type src_type,
                    bool to_file)
{
    size_t Co = (size_t)t->dim[0], Ci = t->rank == 4 ? (size_t)t->dim[1] : 1,
           KK = t->rank == 4 ? (size_t)t->dim[2] * (size_t)t->dim[3] : 1;
    for (size_t co = 0; co < Co; co++)
        for (size_t k = 0; k < KK; k++)
            for (size_t ci = 0; ci < Ci; ci++) {
                size_t arena = (co * KK + k) * Ci + ci, file = (co * Ci + ci) * KK + k;
                size_t from = to_file ? arena : file, to = to_file ? file : arena;
                if (dst_type == src_type && dst_type == DG_F32) ((float *)dst)[to] = ((const float *)src)[from];
                else if (dst_type == src_type) ((double *)dst)[to] = ((const double *)src)[from];
                else if (dst_type == DG_F32) ((float *)dst)[to] = (float)((const double *)src)[from];
                else ((double *)dst)[to] = ((const float *)src)[from];
            }
}

dg_err dg_job_read(dg_job *job, const dg_job_tensor *t, int row, dg_type type, void *out)
{
    dg_backend *b = job->backend;
    size_t bytes = tensor_count(t) * dg_type_bytes(b->real);
    void *tmp = malloc(bytes);
    if (!tmp) return dg_fail(DG_DEVICE, "%s: out of memory for %zu bytes", t->name, bytes);
    dg_err e = b->get(b, tmp, row_memory(job, row), bytes);
    if (!e) permute(t, out, type, tmp, b->real, true);
    free(tmp);
    return e;
}

dg_err dg_job_write(dg_job *job, const dg_job_tensor *t, int row, dg_type type, const void *in)
{
    dg_backend *b = job->backend;
    size_t bytes = tensor_count(t) * dg_type_bytes(b->real);
    void *tmp = malloc(bytes);
    if (!tmp) return dg_fail(DG_DEVICE, "%s: out of memory for %zu bytes", t->name, bytes);
    permute(t, tmp, b->real, in, type, false);
    dg_err e = b->put(b, row_memory(job, row), tmp, bytes);
    free(tmp);
    return e;
}

/* What a fresh tensor is drawn from: mean + sigma * normal. */
static void initial(const char *name, int rank, double *mean, double *sigma)
{
    const char *last = strrchr(name, '.') + 1;
    *mean = *sigma = 0;
    if (rank == 4 || !strcmp(last, "weight")) *sigma = 0.02; /* as the stock example's weights_init */
    if (rank == 1 && !strcmp(last, "weight")) *mean = 1;
    if (!strcmp(last, "running_var")) *mean = 1;
}

dg_err dg_job_init(dg_job *job, uint64_t seed)
{
    for (int i = 0; i < job->tensors; i++) {
        const dg_job_tensor *t = &job->tensor[i];
        size_t n = tensor_count(t);
        float *value = malloc(n * sizeof *value);
        if (!value) return dg_fail(DG_DEVICE, "%s: out of memory for %zu bytes", t->name, n * sizeof *value);
        double mean, sigma;
        initial(t->name, t->rank, &mean, &sigma);
        for (size_t k = 0; k < n; k += 4) {
            float z[4];
            dg_normal4(z, seed, dg_subsequence(DG_STREAM_INIT, (uint64_t)i), k / 4);
            for (size_t j = k; j < n && j < k + 4; j++) value[j] = (float)(mean + sigma * (double)z[j - k]);
        }
        dg_err e = dg_job_write(job, t, t->row, DG_F32, value);
        memset(value, 0, n * sizeof *value);
        if (!e && t->moment1 >= 0) e = dg_job_write(job, t, t->moment1, DG_F32, value);
        if (!e && t->moment2 >= 0) e = dg_job_write(job, t, t->moment2, DG_F32, value);
        free(value);
        if (e) return e;
    }
    return DG_OK;
}

dg_err dg_job_put_state(dg_job *job, const dg_step_state *state)
{
    return job->backend->put(job->backend, row_memory(job, job->row_state), state, sizeof *state);
}

dg_err dg_job_get_state(dg_job *job, dg_step_state *state)
{
    return job->backend->get(job->backend, state, row_memory(job, job->row_state), sizeof *state);
}

static dg_err copy_metrics(dg_job *job, uint64_t first, int n, dg_metrics *out, bool wait)
{
    dg_backend *b = job->backend;
    const dg_metrics *ring = row_memory(job, job->row_ring);
    dg_err e = DG_OK;
    for (int i = 0; i < n && !e;) { /* in at most two pieces: the ring wraps */
        const int at = (int)((first + (uint64_t)i) % DG_RING), count = n - i < DG_RING - at ? n - i : DG_RING - at;
        const size_t bytes = (size_t)count * sizeof *out;
        e = wait ? b->get(b, out + i, ring + at, bytes) : b->start_get(b, DG_COMPUTE, out + i, ring + at, bytes);
        i += count;
    }
    return e;
}

dg_err dg_job_get_metrics(dg_job *job, uint64_t first, int n, dg_metrics *out)
{
    return copy_metrics(job, first, n, out, true);
}

dg_err dg_job_start_metrics(dg_job *job, uint64_t first, int n, dg_metrics *host)
{
    return copy_metrics(job, first, n, host, false);
}

dg_err dg_job_step(dg_job *job, int batch) { return dg_job_steps(job, batch, 1); }

dg_err dg_job_steps(dg_job *job, int batch, int n)
{
    dg_backend *b = job->backend;
    dg_plan *p = batch == job->o.batch ? &job->train : &job->train_short;
    if (batch != job->o.batch && batch != job->o.last_batch)
        return dg_fail(DG_FAILED, "no plan for a batch of %d pictures (there are %d and %d)", batch, job->o.batch,
                       job->o.last_batch);
    if (b->run_many) return b->run_many(b, p, n);
    dg_err e = DG_OK;
    for (int i = 0; i < n && !e; i++) e = b->run(b, p);
    return e;
}

void dg_job_z(float *z, int latent, uint64_t seed, uint64_t picture)
{
    for (int i = 0; i < latent; i += 4) {
        float four[4];
        dg_normal4(four, seed, dg_subsequence(DG_STREAM_SAMPLE, picture), (uint64_t)i / 4);
        for (int k = i; k < latent && k < i + 4; k++) z[k] = four[k - i];
    }
}

static size_t picture_values(const dg_job *job)
{
    const dg_model *m = &job->model;
    return (size_t)m->size * (size_t)m->size * (size_t)m->channels;
}

/* One run of the sample plan on at most o.samples pictures; the rest of z stays what it was. */
static dg_err run_samples(dg_job *job, const float *z, int n)
{
    dg_backend *b = job->backend;
    const size_t latents = (size_t)n * (size_t)job->model.latent;
    double *wide = b->real == DG_F32 ? NULL : malloc(latents * sizeof *wide);
    if (b->real != DG_F32 && !wide) return dg_fail(DG_DEVICE, "out of memory for %d pictures", n);
    for (size_t i = 0; wide && i < latents; i++) wide[i] = (double)z[i];
    const void *from = wide ? (const void *)wide : z;
    dg_err e = b->put(b, row_memory(job, job->row_sample_z), from, latents * dg_type_bytes(b->real));
    free(wide);
    return e ? e : b->run(b, &job->sample);
}

static dg_err get_values(dg_job *job, int n, double *x)
{
    dg_backend *b = job->backend;
    const size_t values = (size_t)n * picture_values(job);
    float *narrow = b->real == DG_F32 ? malloc(values * sizeof *narrow) : NULL;
    if (b->real == DG_F32 && !narrow) return dg_fail(DG_DEVICE, "out of memory for %d pictures", n);
    void *to = narrow ? (void *)narrow : x;
    dg_err e = b->get(b, to, row_memory(job, job->row_sample_x), values * dg_type_bytes(b->real));
    for (size_t i = 0; narrow && !e && i < values; i++) x[i] = (double)narrow[i];
    free(narrow);
    return e;
}

dg_err dg_job_generate(dg_job *job, const float *z, int n, uint8_t *pixels, double *x)
{
    dg_backend *b = job->backend;
    const size_t each = picture_values(job);
    dg_err e = DG_OK;
    for (int i = 0; i < n && !e; i += job->o.samples) {
        const int count = n - i < job->o.samples ? n - i : job->o.samples;
        const size_t at = (size_t)i * each, bytes = (size_t)count * each;
        e = run_samples(job, z + (size_t)i * (size_t)job->model.latent, count);
        if (!e && pixels) e = b->get(b, pixels + at, row_memory(job, job->row_sample_u8), bytes);
        if (!e && x) e = get_values(job, count, x + at);
    }
    return e;
}

dg_err dg_job_start_generate(dg_job *job, const float *z, int n, uint8_t *pixels)
{
    dg_backend *b = job->backend;
    const size_t each = picture_values(job);
    dg_err e = DG_OK;
    for (int i = 0; i < n && !e; i += job->o.samples) {
        const int count = n - i < job->o.samples ? n - i : job->o.samples;
        const void *from = row_memory(job, job->row_sample_u8);
        e = run_samples(job, z + (size_t)i * (size_t)job->model.latent, count);
        if (!e) e = b->start_get(b, DG_COMPUTE, pixels + (size_t)i * each, from, (size_t)count * each);
    }
    return e;
}
