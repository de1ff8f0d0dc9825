/* A job's tensors: in and out in PyTorch's order, and what they begin with. */
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
        size_t n = dg_job_tensor_count(t);
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
