/* `dcgan replay FILE`: run a recorded PyTorch run again, step by step, and show how far we are from it.
 * The file's layout is described in scripts/make_oracle.py. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/cli/commands.h"
#include "host/net/job.h"
#include "host/files/json_text.h"
#include "host/files/safetensors.h"

typedef struct {
    const char *path;
    dg_st *st;
    dg_model model;
    int count, steps, batch, last_batch;
    const dg_st_tensor *images, *index, *z;
    double lr, beta1, beta2, eps;
} oracle;

/* What is compared, and the worst of it. */
typedef struct {
    double tol, worst;
    char worst_name[160];
    FILE *json; /* NULL: lines on stdout */
    int rows;
} report;

static void show(report *r, const char *name, double difference, const char *where)
{
    bool bad = !(difference <= r->tol); /* NaN is bad */
    if (r->json)
        fprintf(r->json, "%s\n  {\"name\": \"%s\", \"difference\": %.9g}", r->rows ? "," : "", name,
                isfinite(difference) ? difference : -1);
    else dg_say("%-46s %10.3e  %-14s %s", name, difference, where, bad ? "above --tol" : "");
    if (!r->rows++ || !(difference <= r->worst)) {
        r->worst = difference;
        snprintf(r->worst_name, sizeof r->worst_name, "%s", name);
    }
}

/* Largest |a - b| over largest |b|; NaN or Inf anywhere gives NaN. */
static double relative(const double *a, const double *b, size_t n)
{
    double difference = 0, size = 0;
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(a[i]) || !isfinite(b[i])) return NAN;
        difference = fmax(difference, fabs(a[i] - b[i]));
        size = fmax(size, fabs(b[i]));
    }
    return size > 0 ? difference / size : difference;
}

static dg_err number(const oracle *o, const char *key, double lo, double hi, double *out)
{
    const char *text = dg_st_get(o->st, key);
    char *end = NULL;
    if (text) *out = strtod(text, &end);
    if (!text || end == text || *end || !(*out >= lo && *out <= hi))
        return dg_fail(DG_USAGE, "%s: metadata %s = %s: must be a number from %g to %g", o->path, key,
                       text ? text : "(missing)", lo, hi);
    return DG_OK;
}

static dg_err whole(const oracle *o, const char *key, int lo, int hi, int *out)
{
    double v = 0;
    dg_err e = number(o, key, lo, hi, &v);
    *out = (int)v;
    if (!e && v != floor(v)) e = dg_fail(DG_USAGE, "%s: metadata %s = %g: must be a whole number", o->path, key, v);
    return e;
}

static const dg_st_tensor *want(const oracle *o, const char *name, dg_type type, int rank, const int64_t *dim)
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

/* How many pictures step s uses: the indices before the first -1. */
static int step_batch(const oracle *o, int s)
{
    const int64_t *row = (const int64_t *)o->index->data + (size_t)s * (size_t)o->batch;
    int n = 0;
    while (n < o->batch && row[n] >= 0) n++;
    return n;
}

static dg_err oracle_open(oracle *o, const char *path)
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
    o->images = want(o, "images", DG_U8, 4, (int64_t[]){o->count, channels, size, size});
    o->index = want(o, "index", DG_I64, 2, (int64_t[]){o->steps, o->batch});
    o->z = want(o, "z", DG_F64, 3, (int64_t[]){o->steps, o->batch, latent});
    if (!o->images || !o->index || !o->z) return DG_USAGE;
    if ((e = dg_st_load(o->st))) return e;
    for (int s = 0; s < o->steps; s++) {
        const int64_t *row = (const int64_t *)o->index->data + (size_t)s * (size_t)o->batch;
        int n = step_batch(o, s);
        for (int i = 0; i < n; i++)
            if (row[i] >= o->count)
                return dg_fail(DG_USAGE, "%s: step %d names picture %lld of %d", path, s, (long long)row[i], o->count);
        if (!n || (n != o->batch && o->last_batch && n != o->last_batch))
            return dg_fail(DG_USAGE,
                           "%s: step %d has %d pictures; only full batches of %d and one short size are handled", path,
                           s, n, o->batch);
        if (n != o->batch) o->last_batch = n;
    }
    return DG_OK;
}

/* Initial weights of every tensor. */
static dg_err load_weights(const oracle *o, dg_job *job)
{
    for (int i = 0; i < job->tensors; i++) {
        const dg_job_tensor *t = &job->tensor[i];
        char name[160];
        snprintf(name, sizeof name, "init.%s", t->name);
        int64_t dim[4];
        for (int k = 0; k < 4; k++) dim[k] = t->dim[k];
        const dg_st_tensor *from = want(o, name, DG_F32, t->rank, dim);
        if (!from) return DG_USAGE;
        dg_err e = dg_job_write(job, t, t->row, DG_F32, from->data);
        if (e) return e;
    }
    return DG_OK;
}

/* One step with the file's pictures and noise. */
static dg_err play(const oracle *o, dg_job *job, int s, int32_t *perm, dg_metrics *m)
{
    dg_backend *b = job->backend;
    int n = step_batch(o, s);
    const int64_t *row = (const int64_t *)o->index->data + (size_t)s * (size_t)o->batch;
    int32_t host[65536];
    host[0] = 0; /* as far as the compiler knows, n could be 0 */
    for (int i = 0; i < n; i++) host[i] = (int32_t)row[i];
    dg_err e = b->put(b, perm, host, (size_t)n * sizeof *host);
    size_t latents = (size_t)n * (size_t)o->model.latent;
    const double *z = (const double *)o->z->data + (size_t)s * (size_t)o->batch * (size_t)o->model.latent;
    float *narrow = malloc(latents * sizeof *narrow);
    if (!narrow) return dg_fail(DG_DEVICE, "out of memory");
    for (size_t i = 0; i < latents; i++) narrow[i] = (float)z[i];
    const dg_row *r = &job->arena.row[n == job->o.batch ? job->row_z : job->row_z_short];
    if (!e)
        e = b->put(b, (char *)job->arena.base + r->offset, b->real == DG_F32 ? (const void *)narrow : z,
                   latents * dg_type_bytes(b->real));
    free(narrow);
    dg_step_state state = {.seed = 1, .step = (uint64_t)s, .cursor = 0, .lr = {o->lr, o->lr}};
    if (!e) e = dg_job_put_state(job, &state);
    if (!e) e = dg_job_step(job, n);
    if (!e) e = dg_job_get_metrics(job, (uint64_t)s, 1, m);
    return e;
}

/* Compare a tensor of ours with the file's expectation `prefix` + name; quietly nothing when it has none. */
static dg_err compare(const oracle *o, dg_job *job, report *r, const char *prefix, const dg_job_tensor *t, int row)
{
    char name[160];
    snprintf(name, sizeof name, "%s%s", prefix, t->name);
    if (!dg_st_find(o->st, name)) return DG_OK;
    int64_t dim[4];
    size_t n = 1;
    for (int k = 0; k < t->rank; k++) n *= (size_t)(dim[k] = t->dim[k]);
    const dg_st_tensor *expected = dg_st_find(o->st, name);
    if (expected->type != DG_F64 && expected->type != DG_F32)
        return dg_fail(DG_USAGE, "%s: %s is neither F64 nor F32", o->path, name);
    expected = want(o, name, expected->type, t->rank, dim);
    if (!expected) return DG_USAGE;
    double *ours = malloc(2 * n * sizeof *ours);
    if (!ours) return dg_fail(DG_DEVICE, "out of memory");
    double *theirs = ours + n;
    dg_err e = dg_job_read(job, t, row, DG_F64, ours);
    for (size_t i = 0; i < n; i++)
        theirs[i] = expected->type == DG_F64 ? ((const double *)expected->data)[i]
                                             : (double)((const float *)expected->data)[i];
    if (!e) show(r, name + strlen("expect."), relative(ours, theirs, n), "");
    free(ours);
    return e;
}

static const struct {
    const char *name;
    int metric;
} loss[] = {{"loss_d_real", DG_LOSS_D_REAL},
            {"loss_d_fake", DG_LOSS_D_FAKE},
            {"loss_g", DG_LOSS_G},
            {"d_x", DG_D_X},
            {"d_gz1", DG_D_GZ1},
            {"d_gz2", DG_D_GZ2}};

static dg_err compare_losses(const oracle *o, report *r, const dg_metrics *m, int steps)
{
    for (int i = 0; i < 6; i++) {
        char name[64], where[64];
        snprintf(name, sizeof name, "expect.%s", loss[i].name);
        const dg_st_tensor *t = want(o, name, DG_F64, 1, (int64_t[]){o->steps});
        if (!t) return DG_USAGE;
        double worst = -1;
        int at = 0;
        for (int s = 0; s < steps; s++) {
            double theirs = ((const double *)t->data)[s], d = relative(&m[s].value[loss[i].metric], &theirs, 1);
            if (d <= worst) continue;
            worst = d;
            at = s;
            if (isnan(d)) break;
        }
        snprintf(where, sizeof where, "worst step %d", at);
        show(r, loss[i].name, worst, where);
    }
    return DG_OK;
}

/* Every step's losses as JSON, ours and those of the file, for scripts/drift.py. */
static void print_losses(FILE *to, const oracle *o, const dg_metrics *m, int steps)
{
    fprintf(to, "],\n \"losses\": {");
    for (int i = 0; i < 3; i++) {
        char name[64];
        snprintf(name, sizeof name, "expect.%s", loss[i].name);
        const double *theirs = dg_st_find(o->st, name)->data;
        for (int side = 0; side < 2; side++) {
            fprintf(to, "%s\n  \"%s_%s\": [", i || side ? "," : "", loss[i].name, side ? "file" : "ours");
            for (int s = 0; s < steps; s++) {
                double v = side ? theirs[s] : m[s].value[loss[i].metric];
                if (isfinite(v)) fprintf(to, "%s%.17g", s ? ", " : "", v);
                else fprintf(to, "%snull", s ? ", " : "");
            }
            fprintf(to, "]");
        }
    }
    fprintf(to, "}");
}

static dg_err compare_sample(const oracle *o, dg_job *job, report *r)
{
    const dg_st_tensor *t = dg_st_find(o->st, "expect.sample");
    const int S = o->model.size, C = o->model.channels;
    if (!t || t->rank != 4 || t->type != DG_F64 || t->dim[0] < 1 || t->dim[0] > o->batch)
        return dg_fail(DG_USAGE, "%s: has no usable expect.sample", o->path);
    int n = (int)t->dim[0];
    if (!want(o, "expect.sample", DG_F64, 4, (int64_t[]){n, C, S, S})) return DG_USAGE;
    size_t latents = (size_t)n * (size_t)o->model.latent, values = (size_t)n * (size_t)S * (size_t)S * (size_t)C;
    float *z = malloc(latents * sizeof *z);
    double *x = malloc(2 * values * sizeof *x);
    dg_err e = z && x ? DG_OK : dg_fail(DG_DEVICE, "out of memory");
    for (size_t i = 0; i < latents && !e; i++) z[i] = (float)((const double *)o->z->data)[i];
    if (!e) e = dg_job_generate(job, z, n, NULL, x);
    if (!e) {
        double *nchw = x + values;
        for (int k = 0; k < n; k++)
            for (int p = 0; p < S * S; p++)
                for (int c = 0; c < C; c++)
                    nchw[((size_t)k * (size_t)C + (size_t)c) * (size_t)(S * S) + (size_t)p] =
                        x[((size_t)k * (size_t)(S * S) + (size_t)p) * (size_t)C + (size_t)c];
        show(r, "sample", relative(nchw, t->data, values), "");
    }
    free(x);
    free(z);
    return e;
}

/* The pictures as NHWC rows in backend memory. */
static dg_err put_images(const oracle *o, dg_backend *b, void **data)
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

static dg_err replay(const oracle *o, dg_backend *b, dg_job *job, report *r, int steps, void **data, void **perm)
{
    dg_job_options go = {.batch = o->batch,
                         .last_batch = o->last_batch,
                         .samples = o->batch < 8 ? o->batch : 8,
                         .rows = o->count,
                         .train = true,
                         .z_given = true,
                         .beta1 = o->beta1,
                         .beta2 = o->beta2,
                         .eps = o->eps};
    dg_err e = put_images(o, b, data);
    if (!e) e = b->alloc(b, (size_t)o->batch * sizeof(int32_t), perm);
    if (!e) e = dg_job_build(job, &o->model, &go, b);
    if (!e) e = dg_job_alloc(job, *data, *perm);
    if (!e) e = dg_job_init(job, 1); /* moments to zero */
    if (!e) e = load_weights(o, job);
    dg_metrics *m = calloc((size_t)steps, sizeof *m);
    if (!m && !e) e = dg_fail(DG_DEVICE, "out of memory");
    for (int s = 0; s < steps && !e; s++) {
        e = play(o, job, s, *perm, &m[s]);
        for (int i = 0; s == 0 && i < job->tensors && !e; i++)
            if (job->tensor[i].grad >= 0)
                e = compare(o, job, r, "expect.step0.grad.", &job->tensor[i], job->tensor[i].grad);
    }
    if (!e) e = compare_losses(o, r, m, steps);
    if (steps == o->steps) {
        for (int i = 0; i < job->tensors && !e; i++)
            e = compare(o, job, r, "expect.final.", &job->tensor[i], job->tensor[i].row);
        if (!e) e = compare_sample(o, job, r);
    }
    if (!e && r->json) print_losses(r->json, o, m, steps);
    free(m);
    return e;
}

static void begin(const report *r, const oracle *o, const dg_backend *b, int steps)
{
    const char *torch = dg_st_get(o->st, "torch"), *type = dg_st_get(o->st, "dtype"),
               *precision = dg_precision_name(b->real, b->math);
    if (r->json) {
        fprintf(r->json, "{\"oracle\": ");
        dg_json_text(r->json, o->path);
        fprintf(r->json, ", \"backend\": ");
        dg_json_text(r->json, b->name);
        fprintf(r->json, ", \"precision\": \"%s\", \"steps\": %d, \"rows\": [", precision, steps);
        return;
    }
    dg_say("replaying %s: PyTorch %s, %s, %d of %d steps, batch %d", o->path, torch ? torch : "?", type ? type : "?",
           steps, o->steps, o->batch);
    dg_say("on %s, %s; largest relative difference, largest value as 1:", b->name, precision);
}

static dg_err judge(const report *r, const oracle *o, bool asked)
{
    const bool bad = !(r->worst <= r->tol);
    if (r->json)
        fprintf(r->json, ",\n \"worst\": %.9g, \"tol\": %.9g, \"ok\": %s}\n", isfinite(r->worst) ? r->worst : -1,
                isfinite(r->tol) ? r->tol : -1, bad ? "false" : "true");
    else
        dg_say("%d quantities; worst %.3e (%s)%s", r->rows, r->worst, r->worst_name,
               asked && !bad ? ", within --tol" : "");
    if (!bad) return DG_OK;
    return dg_fail(DG_FAILED, "%s: %s differs by %.3e, more than --tol %g", o->path, r->worst_name, r->worst, r->tol);
}

static dg_err run(const dg_options *opt, const oracle *o, dg_job *job, report *r)
{
    dg_backend *b = NULL;
    void *data = NULL, *perm = NULL;
    const int steps = opt->steps > 0 && opt->steps < o->steps ? (int)opt->steps : o->steps;
    dg_err e = dg_open_backend(opt, &b);
    if (e) return e;
    begin(r, o, b, steps);
    e = replay(o, b, job, r, steps, &data, &perm);
    if (!e) e = judge(r, o, opt->tol > 0);
    if (data) b->release(b, data);
    if (perm) b->release(b, perm);
    dg_job_free(job);
    b->close(b);
    return e;
}

int dg_cmd_replay(const dg_options *opt)
{
    if (opt->operands != 1)
        return (int)dg_fail(DG_USAGE, "replay needs one FILE, an oracle written by scripts/make_oracle.py");
    oracle o = {0};
    dg_job *job = calloc(1, sizeof *job);
    char *text = NULL; /* JSON is printed when all of it is there: a part of it would not be JSON */
    size_t bytes = 0;
    report r = {.tol = opt->tol > 0 ? opt->tol : INFINITY, .json = opt->json ? open_memstream(&text, &bytes) : NULL};
    dg_err e = job && (r.json || !opt->json) ? oracle_open(&o, opt->operand[0]) : dg_fail(DG_DEVICE, "out of memory");
    if (!e) e = run(opt, &o, job, &r);
    if (r.json && fclose(r.json)) e = dg_fail(DG_DEVICE, "out of memory for the JSON text");
    if (text && (e == DG_OK || e == DG_FAILED)) fputs(text, stdout);
    free(text);
    free(job);
    dg_st_free(o.st);
    return (int)e;
}
