/* Converts a job's tensors to and from PyTorch's layout, and initialises weights. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/rng.h"
#include "host/net/job.h"

size_t dg_job_tensor_count(const dg_job_tensor *t)
{
    size_t n = 1;
    for (int i = 0; i < t->rank; i++) n *= (size_t)t->dim[i];
    return n;
}

/* Convert between types and layouts: arena (Co, K, K, Ci), PyTorch (Co, Ci, K, K). With `to_file`, convert from arena
 * to PyTorch. */
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
    size_t bytes = dg_job_tensor_count(t) * dg_type_bytes(b->real);
    void *tmp = malloc(bytes);
    if (!tmp) return dg_fail(DG_DEVICE, "%s: out of memory for %zu bytes", t->name, bytes);
    dg_err e = b->get(b, tmp, dg_job_memory(job, row), bytes);
    if (!e) permute(t, out, type, tmp, b->real, true);
    free(tmp);
    return e;
}

dg_err dg_job_write(dg_job *job, const dg_job_tensor *t, int row, dg_type type, const void *in)
{
    dg_backend *b = job->backend;
    size_t bytes = dg_job_tensor_count(t) * dg_type_bytes(b->real);
    void *tmp = malloc(bytes);
    if (!tmp) return dg_fail(DG_DEVICE, "%s: out of memory for %zu bytes", t->name, bytes);
    permute(t, tmp, b->real, in, type, false);
    dg_err e = b->put(b, dg_job_memory(job, row), tmp, bytes);
    free(tmp);
    return e;
}

/* Distribution of initial weights, N(mean, sigma^2) or uniform within mean +- `within`. */
typedef struct {
    double mean, sigma, within;
} distribution;

static distribution weights_begin(const dg_job_options *o, const dg_job_tensor *t)
{
    if (t->start == DG_LAYER_START_GAIN) return (distribution){.sigma = t->gain};
    if (t->start == DG_LAYER_START_ZERO) return (distribution){0};
    switch (o->start) {
    case DG_START_DCGAN: return (distribution){.sigma = 0.02}; /* weights_init of PyTorch's DCGAN example */
    case DG_START_NORMAL: return (distribution){.sigma = o->start_sigma};
    case DG_START_HE: return (distribution){.sigma = sqrt(2 / t->fan_in)};
    case DG_START_GLOROT: return (distribution){.within = sqrt(6 / (t->fan_in + t->fan_out))};
    case DG_START_TORCH: return (distribution){.within = 1 / sqrt(t->fan_in)};
    }
    return (distribution){0};
}

static distribution begin(const dg_job_options *o, const dg_job_tensor *t)
{
    const char *last = strrchr(t->name, '.') + 1;
    if (t->direction) return (distribution){.sigma = 1}; /* normalised by the caller */
    if (t->rank == 4) return weights_begin(o, t);
    if (!strcmp(last, "weight")) return (distribution){1, o->start == DG_START_DCGAN ? 0.02 : 0, 0};
    if (!strcmp(last, "running_var")) return (distribution){.mean = 1};
    if (t->start != DG_LAYER_START_OPTION) return (distribution){0};
    if (t->fan_in > 0 && o->start == DG_START_NORMAL) return (distribution){.sigma = o->start_bias};
    if (t->fan_in > 0 && o->start == DG_START_TORCH) return (distribution){.within = 1 / sqrt(t->fan_in)};
    return (distribution){0};
}

static void draw(float out[4], const distribution *d, uint64_t seed, int i, uint64_t block)
{
    const uint64_t subsequence = dg_subsequence(DG_STREAM_INIT, (uint64_t)i);
    if (d->within > 0) {
        uint32_t word[4];
        dg_philox(word, seed, subsequence, block);
        for (int k = 0; k < 4; k++) out[k] = (float)(d->mean + d->within * (((double)word[k] + 0.5) * 0x1p-31 - 1));
        return;
    }
    dg_normal4(out, seed, subsequence, block);
    for (int k = 0; k < 4; k++) out[k] = (float)(d->mean + d->sigma * (double)out[k]);
}

static void normalise(float *value, size_t n)
{
    double squares = 0;
    for (size_t k = 0; k < n; k++) squares += (double)value[k] * (double)value[k];
    for (size_t k = 0; k < n; k++) value[k] = (float)((double)value[k] / sqrt(squares));
}

static dg_err fill(dg_job *job, const dg_job_tensor *t, int row, float *value, size_t n, double with)
{
    for (size_t k = 0; k < n; k++) value[k] = (float)with;
    return row < 0 ? DG_OK : dg_job_write(job, t, row, DG_F32, value);
}

dg_err dg_job_init(dg_job *job, uint64_t seed)
{
    for (int i = 0; i < job->tensors; i++) {
        const dg_job_tensor *t = &job->tensor[i];
        const distribution d = begin(&job->o, t);
        const size_t n = dg_job_tensor_count(t);
        float *value = calloc(n, sizeof *value);
        if (!value) return dg_fail(DG_DEVICE, "%s: out of memory for %zu bytes", t->name, n * sizeof *value);
        for (size_t k = 0; k < n; k += 4) {
            float z[4];
            draw(z, &d, seed, i, k / 4);
            for (size_t j = k; j < n && j < k + 4; j++) value[j] = z[j - k];
        }
        if (t->direction) normalise(value, n);
        dg_err e = dg_job_write(job, t, t->row, DG_F32, value);
        if (!e && t->average >= 0) e = dg_job_write(job, t, t->average, DG_F32, value);
        if (!e) e = fill(job, t, t->moment1, value, n, 0);
        if (!e) e = fill(job, t, t->moment2, value, n, job->o.optimizer == DG_ADAGRAD ? job->o.accumulator : 0);
        free(value);
        if (e) return e;
    }
    job->unsettled = job->plan[DG_PLAN_STATISTICS].ops > 0;
    return DG_OK;
}

int dg_job_tensor_shape(const dg_job_tensor *t, int64_t dim[4])
{
    for (int i = 0; i < t->rank; i++) dim[i] = t->dim[i];
    if (t->file_rank == 2) dim[1] = dim[1] * dim[2] * dim[3];
    if (t->file_rank == 1) dim[0] = dim[0] * dim[1] * dim[2] * dim[3];
    return t->file_rank ? t->file_rank : t->rank;
}
