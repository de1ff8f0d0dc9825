#include "host/infer/oracle.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/net/classifier.h"
#include "host/net/gan.h"
#include "host/net/recipe.h"

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
    const dg_err e = number(o, key, lo, hi, &v);
    if (e) return e;
    if (v != floor(v)) return dg_fail(DG_USAGE, "%s: metadata %s = %g: must be a whole number", o->path, key, v);
    *out = (int)v;
    return DG_OK;
}

const dg_st_tensor *dg_oracle_tensor(const dg_oracle *o, const char *name, dg_type type, int rank, const int64_t *dim)
{
    const dg_st_tensor *t = dg_st_find(o->st, name);
    if (!t) {
        dg_set_message("%s: has no tensor %s; write it with tools/pytorch/make_oracle.py", o->path, name);
        return NULL;
    }
    bool same = t->type == type && t->rank == rank;
    for (int i = 0; same && i < rank; i++) same = t->dim[i] == dim[i];
    if (!same) {
        dg_set_message("%s: the type or shape of tensor %s differs from the metadata", o->path, name);
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
    while (n < o->batch && row[n] >= 0) n++;
    return n;
}

static dg_err check_steps(dg_oracle *o)
{
    for (int s = 0; s < o->steps; s++) {
        const int64_t *row = dg_oracle_index(o, s);
        int n = dg_oracle_batch(o, s);
        for (int i = 0; i < n; i++)
            if (row[i] >= o->count)
                return dg_fail(DG_USAGE, "%s: step %d: image index %lld must be below %d", o->path, s,
                               (long long)row[i], o->count);
        if (!n || (n != o->batch && o->last_batch && n != o->last_batch))
            return dg_fail(DG_USAGE,
                           "%s: step %d has %d images; dcgan replays only batches of %d and of one smaller size",
                           o->path, s, n, o->batch);
        if (n != o->batch) o->last_batch = n;
    }
    return DG_OK;
}

static dg_err check_labels(const dg_oracle *o)
{
    const int64_t *label = o->labels->data, classes = o->z ? o->model.classes : dg_classifier_classes(&o->model);
    for (int i = 0; i < o->count; i++)
        if (label[i] < 0 || label[i] >= classes)
            return dg_fail(DG_USAGE, "%s: label %d is %lld; there are %lld classes", o->path, i, (long long)label[i],
                           (long long)classes);
    return DG_OK;
}

static dg_err read_schedule(dg_oracle *o)
{
    dg_job_options *j = &o->job;
    const struct {
        const char *key;
        double most, *to;
    } given[] = {{"r1", 1e6, &j->r1},
                 {"r2", 1e6, &j->r2},
                 {"schedule", 1e9, &j->schedule},
                 {"lr_end", 10, &j->lr_end},
                 {"beta2_end", 1, &j->beta2_end},
                 {"r1_end", 1e6, &j->r1_end},
                 {"r2_end", 1e6, &j->r2_end},
                 {"ema_half_life", 1e9, &j->ema_half_life},
                 {"augment_p", 1, &j->augment_p},
                 {"class_fade", 1e9, &j->class_fade}};
    dg_err e = DG_OK;
    j->augment_p = 1;
    for (size_t i = 0; i < sizeof given / sizeof *given && !e; i++)
        if (dg_st_get(o->st, given[i].key)) e = number(o, given[i].key, 0, given[i].most, given[i].to);
    j->lr_end /= o->lr;
    return e;
}

/* Make the model of a recorded GAN that has no model file in its metadata. */
static dg_err read_stock(dg_oracle *o)
{
    int channels, latent, ngf, ndf;
    const char *shape = dg_st_get(o->st, "size"), *end;
    dg_size size = {0, 0};
    dg_err e = shape && (end = dg_size_parse(shape, &size)) && !*end
                   ? DG_OK
                   : dg_fail(DG_USAGE, "%s: metadata size = %s: must be a side or WIDTHxHEIGHT", o->path,
                             shape ? shape : "(missing)");
    if (!e) e = whole(o, "channels", 1, 3, &channels);
    if (!e) e = whole(o, "latent", 1, 4096, &latent);
    if (!e) e = whole(o, "ngf", 1, 4096, &ngf);
    if (!e) e = whole(o, "ndf", 1, 4096, &ndf);
    const char *norm = dg_st_get(o->st, "norm_d");
    const bool none = norm && !strcmp(norm, "none");
    if (!e && norm && !none && strcmp(norm, "spectral"))
        e = dg_fail(DG_USAGE, DG_MSG("bad-recorded-norm", "%s: metadata norm_d = %s: unknown normalization"), o->path,
                    norm);
    char text[DG_MODEL_TEXT_MAX], normal[DG_MODEL_TEXT_MAX];
    if (!e) e = dg_model_stock(text, "oracle", size, channels, latent, ngf, ndf);
    if (!e && norm) e = dg_model_norm_d(text, "oracle", none ? DG_NORM_NONE : DG_NORM_SPECTRAL, normal);
    return e ? e : dg_model_parse(norm ? normal : text, o->path, &o->model);
}

static dg_err read_gan(dg_oracle *o)
{
    dg_err e = DG_OK;
    const char *loss = dg_st_get(o->st, "loss"), *augment = dg_st_get(o->st, "augment");
    if (loss && !dg_loss_parse(loss, &o->job.loss))
        e = dg_fail(DG_USAGE, DG_MSG("bad-recorded-loss", "%s: metadata loss = %s: unknown loss"), o->path, loss);
    if (!e && !dg_augment_parse(augment, &o->job.augment))
        e = dg_fail(DG_USAGE, "%s: metadata augment = %s: unknown augmentation", o->path, augment);
    return e ? e : read_schedule(o);
}

static dg_err channels(const dg_oracle *o, const char *key, double out[4])
{
    const char *text = dg_st_get(o->st, key), *at = text ? text : "";
    for (int c = 0; c < o->model.channels; c++) {
        char *end;
        out[c] = strtod(at, &end);
        if (end == at || !isfinite(out[c]))
            return dg_fail(DG_USAGE, "%s: metadata %s = %s: must be %d numbers", o->path, key,
                           text ? text : "(missing)", o->model.channels);
        at = end;
    }
    return DG_OK;
}

static dg_err read_classifier(dg_oracle *o)
{
    const char *name = dg_st_get(o->st, "optimizer");
    int nesterov = 0;
    dg_job_options *j = &o->job;
    dg_err e = channels(o, "mean", j->input.mean);
    if (!e) e = channels(o, "std", j->input.std);
    if (!e) e = number(o, "momentum", 0, 1, &j->momentum);
    if (!e) e = number(o, "rho", 0, 1, &j->rho);
    if (!e) e = number(o, "decay", 0, 1, &j->decay);
    if (!e) e = number(o, "accumulator", 0, 1e6, &j->accumulator);
    if (!e) e = number(o, "smoothing", 0, 1, &j->smoothing);
    if (!e) e = whole(o, "nesterov", 0, 1, &nesterov);
    j->nesterov = nesterov;
    j->optimizer = name ? dg_optimizer_find(name) : DG_ADAM;
    if (!e && j->optimizer == DG_OPTIMIZERS)
        e = dg_fail(DG_USAGE, "%s: metadata optimizer = %s: unknown optimizer", o->path, name);
    return e;
}

static dg_err read_model(dg_oracle *o)
{
    const dg_recipe *r = NULL;
    const char *model = dg_st_get(o->st, "model");
    dg_err e = model ? dg_model_parse(model, o->path, &o->model) : read_stock(o);
    if (!e) e = dg_recipe_for(&o->model, &r);
    if (e) return e;
    o->labelled = r->labels || o->model.classes;
    o->sampled = r->sample != NULL;
    return r->labels ? read_classifier(o) : read_gan(o);
}

dg_err dg_oracle_open(dg_oracle *o, const char *path)
{
    memset(o, 0, sizeof *o);
    o->path = path;
    dg_err e = dg_st_open(path, 0, &o->st);
    if (e) return e;
    const char *format = dg_st_get(o->st, "format");
    if (!format || strcmp(format, "dcgan-oracle-1"))
        return dg_fail(DG_USAGE, "%s: is not a recorded PyTorch run (metadata format = %s, not dcgan-oracle-1)", path,
                       format ? format : "(missing)");
    e = whole(o, "batch", 1, 65536, &o->batch);
    if (!e) e = whole(o, "count", 1, 1 << 24, &o->count);
    if (!e) e = whole(o, "steps", 1, 1 << 24, &o->steps);
    if (!e) e = number(o, "lr", 0, 10, &o->lr);
    if (!e) e = number(o, "beta1", 0, 1, &o->job.beta1);
    if (!e) e = number(o, "beta2", 0, 1, &o->job.beta2);
    if (!e) e = number(o, "eps", 0, 1, &o->job.eps);
    if (!e) e = read_model(o);
    const int W = o->model.size.W, H = o->model.size.H, channels = o->model.channels;
    if (e) return e;
    o->images = dg_oracle_tensor(o, "images", DG_U8, 4, (int64_t[]){o->count, channels, H, W});
    o->index = dg_oracle_tensor(o, "index", DG_I64, 2, (int64_t[]){o->steps, o->batch});
    if (o->labelled) o->labels = dg_oracle_tensor(o, "labels", DG_I64, 1, (int64_t[]){o->count});
    if (o->sampled) o->z = dg_oracle_tensor(o, "z", DG_F64, 3, (int64_t[]){o->steps, o->batch, o->model.latent});
    if (!o->images || !o->index || (o->labelled && !o->labels) || (o->sampled && !o->z)) return DG_USAGE;
    if ((e = dg_st_load(o->st))) return e;
    e = check_steps(o);
    return e || !o->labelled ? e : check_labels(o);
}

void dg_oracle_close(dg_oracle *o) { dg_st_free(o->st); }

dg_err dg_oracle_weights(const dg_oracle *o, dg_job *job)
{
    for (int i = 0; i < job->tensors; i++) {
        const dg_job_tensor *t = &job->tensor[i];
        char name[160];
        snprintf(name, sizeof name, "init.%s", t->name);
        int64_t dim[4];
        const int rank = dg_job_tensor_shape(t, dim);
        const dg_st_tensor *from = dg_oracle_tensor(o, name, DG_F32, rank, dim);
        if (!from) return DG_USAGE;
        dg_err e = dg_job_write(job, t, t->row, DG_F32, from->data);
        if (e) return e;
    }
    return DG_OK;
}

static dg_err pixels(const dg_oracle *o, uint8_t **out)
{
    const size_t P = dg_size_pixels(o->model.size), C = (size_t)o->model.channels;
    const uint8_t *nchw = o->images->data;
    *out = malloc((size_t)o->count * P * C);
    if (!*out) return dg_fail(DG_DEVICE, "out of memory for %d images", o->count);
    for (size_t n = 0; n < (size_t)o->count; n++)
        for (size_t c = 0; c < C; c++)
            for (size_t p = 0; p < P; p++) (*out)[(n * P + p) * C + c] = nchw[(n * C + c) * P + p];
    return DG_OK;
}

dg_err dg_oracle_records(const dg_oracle *o, const dg_job *job, uint8_t **out)
{
    int32_t *label = malloc((size_t)o->count * sizeof *label);
    uint8_t *nhwc = NULL;
    dg_err e = label ? pixels(o, &nhwc) : dg_fail(DG_DEVICE, "out of memory for %d images", o->count);
    for (int n = 0; n < o->count && !e; n++) label[n] = o->labels ? (int32_t)((const int64_t *)o->labels->data)[n] : 0;
    if (!e) e = dg_job_records(job, nhwc, label, o->count, out);
    free(nhwc);
    free(label);
    return e;
}

dg_err dg_oracle_whitening(const dg_oracle *o, const dg_backend *b, dg_whitening **out)
{
    const dg_model *m = &o->model;
    const dg_whitening_options w = {
        .size = m->size, .channels = m->channels, .epsilon = m->epsilon, .real = b->real, .threads = b->threads};
    uint8_t *nhwc;
    *out = NULL;
    if (m->input != DG_INPUT_ZCA) return DG_OK;
    dg_err e = pixels(o, &nhwc);
    if (!e) e = dg_whitening_fit(&w, nhwc, o->count, out);
    free(nhwc);
    return e;
}

dg_err dg_oracle_images(const dg_oracle *o, const dg_job *job, void **data)
{
    const size_t bytes = (size_t)o->count * dg_job_record_bytes(job);
    dg_backend *b = job->backend;
    uint8_t *records = NULL;
    dg_err e = dg_oracle_records(o, job, &records);
    if (!e) e = b->alloc(b, bytes, data);
    if (!e) e = b->put(b, *data, records, bytes);
    free(records);
    return e;
}
