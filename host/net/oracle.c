#include "host/net/oracle.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static dg_err number(const dg_oracle *o, const char *key, double lo, double hi, double *out)
{
    const char *text = dg_st_get(o->st, key);
    char *end = NULL;
    if (text) *out = strtod(text, &end);
    if (!text || end == text || *end || !(*out >= lo && *out <= hi))
        return dg_fail(DG_USAGE, "%s: metadata %s = %s: must be a number from %g to %g", o->path, key,
                       text ? text : "(missing)", lo, hi);
    return DG_OK;
}

static dg_err whole(const dg_oracle *o, const char *key, int lo, int hi, int *out)
{
    double v = 0;
    dg_err e = number(o, key, lo, hi, &v);
    *out = (int)v;
    if (!e && v != floor(v)) e = dg_fail(DG_USAGE, "%s: metadata %s = %g: must be a whole number", o->path, key, v);
    return e;
}

const dg_st_tensor *dg_oracle_tensor(const dg_oracle *o, const char *name, dg_type type, int rank, const int64_t *dim)
{
    const dg_st_tensor *t = dg_st_find(o->st, name);
    if (!t) {
        dg_fail(DG_USAGE, "%s: has no tensor %s; write it with scripts/make_oracle.py", o->path, name);
        return NULL;
    }
    bool same = t->type == type && t->rank == rank;
    for (int i = 0; same && i < rank; i++) same = t->dim[i] == dim[i];
    if (!same) {
        dg_fail(DG_USAGE, "%s: tensor %s has another type or shape than the metadata say", o->path, name);
        return NULL;
    }
    return t;
}

const int64_t *dg_oracle_index(const dg_oracle *o, int s)
{
    return (const int64_t *)o->index->data + (size_t)s * (size_t)o->batch;
}

int dg_oracle_batch(const dg_oracle *o, int s)
{
    const int64_t *row = dg_oracle_index(o, s);
    int n = 0;
    while (n < o->batch && row[n] >= 0) n++; /* the indices before the first -1 */
    return n;
}

static dg_err check_steps(dg_oracle *o)
{
    for (int s = 0; s < o->steps; s++) {
        const int64_t *row = dg_oracle_index(o, s);
        int n = dg_oracle_batch(o, s);
        for (int i = 0; i < n; i++)
            if (row[i] >= o->count)
                return dg_fail(DG_USAGE, "%s: step %d names picture %lld of %d", o->path, s, (long long)row[i],
                               o->count);
        if (!n || (n != o->batch && o->last_batch && n != o->last_batch))
            return dg_fail(DG_USAGE,
                           "%s: step %d has %d pictures; only full batches of %d and one short size are handled",
                           o->path, s, n, o->batch);
        if (n != o->batch) o->last_batch = n;
    }
    return DG_OK;
}

dg_err dg_oracle_open(dg_oracle *o, const char *path)
{
    memset(o, 0, sizeof *o);
    o->path = path;
    dg_err e = dg_st_open(path, 0, &o->st);
    if (e) return e;
    const char *format = dg_st_get(o->st, "format");
    if (!format || strcmp(format, "dcgan-oracle-1"))
        return dg_fail(DG_USAGE, "%s: is no oracle (metadata format = %s, not dcgan-oracle-1)", path,
                       format ? format : "(missing)");
    int size, channels, latent, ngf, ndf;
    if ((e = whole(o, "size", 16, 256, &size)) || (e = whole(o, "channels", 1, 3, &channels)) ||
        (e = whole(o, "latent", 1, 4096, &latent)) || (e = whole(o, "ngf", 1, 4096, &ngf)) ||
        (e = whole(o, "ndf", 1, 4096, &ndf)) || (e = whole(o, "batch", 1, 65536, &o->batch)) ||
        (e = whole(o, "count", 1, 1 << 24, &o->count)) || (e = whole(o, "steps", 1, 1 << 24, &o->steps)) ||
        (e = number(o, "lr", 0, 1, &o->lr)) || (e = number(o, "beta1", 0, 1, &o->beta1)) ||
        (e = number(o, "beta2", 0, 1, &o->beta2)) || (e = number(o, "eps", 0, 1, &o->eps)))
        return e;
    char text[DG_MODEL_TEXT_MAX];
    e = dg_model_stock(text, "oracle", size, channels, latent, ngf, ndf);
    if (!e) e = dg_model_parse(text, path, &o->model);
    if (e) return e;
    o->images = dg_oracle_tensor(o, "images", DG_U8, 4, (int64_t[]){o->count, channels, size, size});
    o->index = dg_oracle_tensor(o, "index", DG_I64, 2, (int64_t[]){o->steps, o->batch});
    o->z = dg_oracle_tensor(o, "z", DG_F64, 3, (int64_t[]){o->steps, o->batch, latent});
    if (!o->images || !o->index || !o->z) return DG_USAGE;
    if ((e = dg_st_load(o->st))) return e;
    return check_steps(o);
}

void dg_oracle_close(dg_oracle *o) { dg_st_free(o->st); }

dg_err dg_oracle_weights(const dg_oracle *o, dg_job *job)
{
    for (int i = 0; i < job->tensors; i++) {
        const dg_job_tensor *t = &job->tensor[i];
        char name[160];
        snprintf(name, sizeof name, "init.%s", t->name);
        int64_t dim[4];
        for (int k = 0; k < 4; k++) dim[k] = t->dim[k];
        const dg_st_tensor *from = dg_oracle_tensor(o, name, DG_F32, t->rank, dim);
        if (!from) return DG_USAGE;
        dg_err e = dg_job_write(job, t, t->row, DG_F32, from->data);
        if (e) return e;
    }
    return DG_OK;
}

dg_err dg_oracle_pictures(const dg_oracle *o, dg_backend *b, void **data)
{
    const size_t P = (size_t)o->model.size * (size_t)o->model.size, C = (size_t)o->model.channels,
                 bytes = o->images->bytes;
    uint8_t *nhwc = malloc(bytes);
    if (!nhwc) return dg_fail(DG_DEVICE, "out of memory for %zu bytes", bytes);
    const uint8_t *nchw = o->images->data;
    for (size_t n = 0; n < (size_t)o->count; n++)
        for (size_t c = 0; c < C; c++)
            for (size_t p = 0; p < P; p++) nhwc[(n * P + p) * C + c] = nchw[(n * C + c) * P + p];
    dg_err e = b->alloc(b, bytes, data);
    if (!e) e = b->put(b, *data, nhwc, bytes);
    free(nhwc);
    return e;
}
