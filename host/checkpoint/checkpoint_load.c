/* Reads the metadata and tensors of checkpoints. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "host/checkpoint/checkpoint_layout.h"
#include "core/plan/precision.h"
#include "core/base/shell.h"
#include "host/net/classifier.h"
#include "host/net/gan_step.h"
#include "host/net/recipe.h"

static dg_err number(const dg_st *st, const char *path, const char *key, uint64_t *out)
{
    const char *text = dg_st_get(st, key);
    char *end = NULL;
    errno = 0;
    if (text && text[0] >= '0' && text[0] <= '9') *out = strtoull(text, &end, 10);
    if (!end || *end || errno)
        return dg_fail(DG_IO, "%s: metadata %s = %s: must be a whole number", path, key, text ? text : "(missing)");
    return DG_OK;
}

bool dg_ck_exported(const char *format)
{
    return !strcmp(format, DG_GENERATOR_FORMAT) || !strcmp(format, DG_CLASSIFIER_FORMAT);
}

dg_err dg_ck_format(const dg_st *st, const char *path, bool *full)
{
    const char *format = dg_st_get(st, "format");
    char quoted[DG_SHELL_ROOM];
    *full = format && !strcmp(format, DG_CHECKPOINT_FORMAT);
    if (!format || *full || dg_ck_exported(format) || !strcmp(format, "pt")) return DG_OK;
    if (!strncmp(format, "dcgan-oracle-", 13))
        return dg_fail(DG_IO, "%s: is a recorded PyTorch run, not a checkpoint; replay it: %s replay %s", path,
                       dg_program(), dg_shell_path(quoted, sizeof quoted, path));
    if (!strcmp(format, DG_NETWORK_FORMAT) && dg_st_get(st, "network"))
        return dg_fail(
            DG_USAGE,
            DG_MSG("network-alone",
                   "%s: contains only the network %.8s, exported for PyTorch; use the checkpoint that was exported"),
            path, dg_st_get(st, "network"));
    if (!strncmp(format, "dcgan-", 6))
        return dg_fail(DG_IO,
                       "%s: has format %s, but a checkpoint has format " DG_CHECKPOINT_FORMAT ", " DG_GENERATOR_FORMAT
                       " or " DG_CLASSIFIER_FORMAT "; a newer version of dcgan may read it",
                       path, format);
    return dg_fail(DG_IO, "%s: is not a dcgan checkpoint (format %s)", path, format);
}

static uint64_t setting(const char *config, const char *key)
{
    const size_t n = strlen(key);
    for (const char *line = config; *line; line += strcspn(line, "\n"), line += *line != 0)
        if (!strncmp(line, key, n) && !strncmp(line + n, " = ", 3)) return strtoull(line + n + 3, NULL, 10);
    return 0;
}

/* Returns the number of images per epoch, or 0 if unknown. */
static uint64_t images_of_epoch(const dg_checkpoint_info *info, uint64_t *batch)
{
    const uint64_t count = info->data_count;
    *batch = setting(info->config, "batch");
    if (!*batch) return 0;
    const uint64_t last = count % *batch, shards = setting(info->config, "shards");
    return count - (strstr(info->config, "drop-last = yes") ? last : shards ? last % shards : 0);
}

/* A resumed run may change its batch size, so `step` may differ from epoch * steps per epoch. */
static dg_err check_place(const dg_checkpoint_info *info, const char *path)
{
    uint64_t each;
    const uint64_t most = (uint64_t)1 << 53, used = images_of_epoch(info, &each),
                   steps = used ? (used - 1) / each + 1 : 0;
    const unsigned long long step = info->step, epoch = info->epoch, batch = info->batch;
    if (step > most || epoch > INT_MAX || info->data_count > INT_MAX)
        return dg_fail(DG_IO,
                       "%s: step %llu, epoch %llu or data-count %llu is too large; their limits are %llu, %d and %d",
                       path, step, epoch, (unsigned long long)info->data_count, (unsigned long long)most, INT_MAX,
                       INT_MAX);
    if (batch > step || epoch > step - batch)
        return dg_fail(DG_IO, "%s: step %llu is too small for epoch %llu and batch-in-epoch %llu", path, step, epoch,
                       batch);
    if (steps && batch >= steps)
        return dg_fail(DG_IO, "%s: batch-in-epoch is %llu, but %llu images have only %llu steps per epoch", path, batch,
                       (unsigned long long)info->data_count, (unsigned long long)steps);
    return DG_OK;
}

static dg_err read_images(const dg_st *st, const char *path, dg_checkpoint_info *info)
{
    uint64_t batch;
    const uint64_t used = images_of_epoch(info, &batch);
    info->images = used ? info->epoch * used + info->batch * batch : 0;
    if (!dg_st_get(st, "images-shown")) return DG_OK;
    const dg_err e = number(st, path, "images-shown", &info->images);
    if (e || info->images <= (uint64_t)1 << 53) return e;
    return dg_fail(DG_IO, "%s: metadata images-shown = %s: must be at most 2^53", path, dg_st_get(st, "images-shown"));
}

static dg_err check_counts(const dg_st *st, const char *path, const dg_recipe *r)
{
    uint64_t step;
    const dg_err e = number(st, path, "step", &step);
    if (e) return e;
    for (int i = 0; i < dg_st_count(st); i++) {
        const dg_st_tensor *t = dg_st_at(st, i);
        if (t->type != DG_I64) continue;
        int net = 0;
        while (net < r->nets - 1 && r->net[net].letter != t->name[0]) net++;
        const uint64_t want = step * (uint64_t)r->net[net].passes;
        int64_t n;
        memcpy(&n, t->data, sizeof n);
        if ((uint64_t)n != want)
            return dg_fail(DG_IO, "%s: tensor %s is %lld; for step %llu it must be %llu", path, t->name, (long long)n,
                           (unsigned long long)step, (unsigned long long)want);
    }
    return DG_OK;
}

dg_err dg_ck_read_input(const dg_st *st, const char *path, const dg_model *m, dg_input_data *out)
{
    if (m->input != DG_INPUT_STANDARD) return DG_OK;
    const char *text = dg_st_get(st, "input"), *at = text ? text : "";
    for (int i = 0; i < 2 * m->channels; i++) {
        char *end;
        const double v = strtod(at, &end);
        if (end == at || !isfinite(v) || (i % 2 && !(v > 0)))
            return dg_fail(DG_IO, "%s: metadata input = %s: must be mean and standard deviation of %d channels", path,
                           text ? text : "(missing)", m->channels);
        *(i % 2 ? &out->std[i / 2] : &out->mean[i / 2]) = v;
        at = end;
    }
    return DG_OK;
}

dg_err dg_ck_check_names(const char *path, const dg_model *m, const char *classes)
{
    const dg_recipe *r = dg_recipe_find(m);
    if (!r || (!r->labels && !m->classes)) return DG_OK;
    const int wanted = r->labels ? dg_classifier_classes(m) : m->classes;
    int names = 0;
    for (const char *c = classes ? classes : ""; *c; c++) names += *c == '\n';
    if (names == wanted) return DG_OK;
    return dg_fail(DG_IO, DG_MSG("class-names-count", "%s: names %d classes; model %s has %d classes"), path, names,
                   m->name, wanted);
}

dg_err dg_ck_read_classes(const dg_st *st, const char *path, const dg_model *m, bool full, dg_checkpoint_info *info)
{
    const char *names = dg_st_get(st, "classes"), *images = dg_st_get(st, "class-images");
    info->classes = names ? dg_text_from_utf8(names) : NULL;
    if (names && !info->classes) return dg_fail(DG_DEVICE, "%s: out of memory", path);
    const dg_err e = names || full ? dg_ck_check_names(path, m, info->classes) : DG_OK;
    if (e || !images || !m->classes) return e;
    info->class_images = calloc((size_t)m->classes, sizeof *info->class_images);
    if (!info->class_images) return dg_fail(DG_DEVICE, "%s: out of memory", path);
    int64_t all = 0;
    for (int c = 0; c < m->classes; c++) {
        char *end;
        const long n = strtol(images, &end, 10);
        if (end == images || n < 0 || n > INT_MAX || (all += n) > INT_MAX)
            return dg_fail(DG_IO, "%s: metadata class-images: must be the numbers of images of %d classes", path,
                           m->classes);
        info->class_images[c] = (int)n;
        images = end;
    }
    if (all && !*images) return DG_OK;
    return dg_fail(DG_IO, "%s: metadata class-images: %s", path,
                   all ? "has more numbers than classes" : "all classes are empty");
}

static dg_err read_info(const dg_st *st, const char *path, dg_model *model, dg_checkpoint_info *info)
{
    const char *precision = dg_st_get(st, "precision"), *text = dg_st_get(st, "model"),
               *config = dg_st_get(st, "config");
    if (!text) return dg_fail(DG_IO, "%s: has no model in its metadata", path);
    if (!precision || !(dg_precision_find(precision) || dg_precision_removed(precision)))
        return dg_fail(DG_IO, "%s: metadata precision = %s: unknown to this version of dcgan", path,
                       precision ? precision : "(missing)");
    snprintf(info->precision, sizeof info->precision, "%s", precision);
    const struct {
        const char *key;
        uint64_t *value;
    } field[] = {
        {"step", &info->step}, {"epoch", &info->epoch},           {"batch-in-epoch", &info->batch},
        {"seed", &info->seed}, {"data-count", &info->data_count}, {"data-fingerprint", &info->data_fingerprint}};
    for (size_t i = 0; i < sizeof field / sizeof field[0]; i++) {
        dg_err e = number(st, path, field[i].key, field[i].value);
        if (e) return e;
    }
    info->config = dg_text_from_utf8(config ? config : "");
    if (!info->config) return dg_fail(DG_DEVICE, "%s: out of memory", path);
    dg_err e = check_place(info, path);
    if (!e) e = read_images(st, path, info);
    if (!e) e = dg_provenance_read(st, path, &info->by);
    if (!e) e = dg_ck_derive(st, path, model);
    if (!e) e = dg_ck_read_input(st, path, model, &info->input);
    return e ? e : dg_ck_read_classes(st, path, model, true, info);
}

dg_err dg_checkpoint_precision(const dg_checkpoint_info *info, const char *path, const dg_backend *b)
{
    const char *precision = dg_precision_name(b->real, b->math);
    if (dg_precision_removed(info->precision) && b->real == DG_F32)
        dg_warn(DG_MSG("tf32-new-bits",
                       "results will differ from those of older versions: %s was trained in tf32 and continues in %s"),
                path, precision);
    else if (strcmp(info->precision, precision) != 0)
        return dg_fail(DG_USAGE, "%s: trained with {precision} %s; cannot resume with %s", path, info->precision,
                       precision);
    return DG_OK;
}

static dg_err generator_info(const dg_st *st, const char *path, dg_model *model, dg_checkpoint_info *info)
{
    if (dg_st_get(st, "step")) (void)number(st, path, "step", &info->step);
    if (dg_st_get(st, "epoch")) (void)number(st, path, "epoch", &info->epoch);
    if (dg_st_get(st, "seed")) (void)number(st, path, "seed", &info->seed);
    bool wide = true;
    for (int i = 0; i < dg_st_count(st); i++) wide &= dg_st_at(st, i)->type != DG_F32;
    snprintf(info->precision, sizeof info->precision, "%s", wide ? "fp64" : "fp32");
    info->config = calloc(1, 1);
    if (!info->config) return dg_fail(DG_DEVICE, "%s: out of memory", path);
    dg_err e = dg_ck_derive(st, path, model);
    if (!e) e = dg_ck_read_classes(st, path, model, false, info);
    return e || !info->classes ? e : dg_ck_read_input(st, path, model, &info->input);
}

static dg_type type_of(const dg_checkpoint_info *info) { return strcmp(info->precision, "fp64") ? DG_F32 : DG_F64; }

dg_err dg_checkpoint_open(const char *path, dg_st **st, dg_model *model, dg_checkpoint_info *info)
{
    memset(info, 0, sizeof *info);
    bool full = false;
    dg_err e = dg_st_open(path, 0, st);
    if (e) return e;
    e = dg_ck_format(*st, path, &full);
    if (!e && full && !dg_st_get(*st, "crc32"))
        e = dg_fail(DG_IO,
                    "%s: is a checkpoint without checksums (metadata crc32); use a copy with its original metadata",
                    path);
    if (!e) e = full ? read_info(*st, path, model, info) : generator_info(*st, path, model, info);
    if (!e) e = dg_ck_load(*st, path, model, full, type_of(info));
    if (!e && full) e = check_counts(*st, path, dg_recipe_find(model));
    if (!e) e = dg_context(dg_ck_read_whitening(*st, model, &info->input.whitening), "%s", path);
    if (!e) return DG_OK;
    dg_checkpoint_info_free(info);
    dg_st_free(*st);
    *st = NULL;
    return e;
}

void dg_checkpoint_info_free(dg_checkpoint_info *info)
{
    free(info->config);
    free(info->classes);
    free(info->class_images);
    dg_whitening_free(info->input.whitening);
    memset(info, 0, sizeof *info);
}

/* A missing optimizer moment is an error, because its memory would stay uninitialised. */
static dg_err put_moment(const dg_st *st, const char *path, dg_job *job, const char *prefix, const dg_job_tensor *t,
                         int row)
{
    char name[80];
    snprintf(name, sizeof name, "%s%s", prefix, t->name);
    const dg_st_tensor *from = dg_st_find(st, name);
    if (from) return dg_job_write(job, t, row, from->type, from->data);
    return dg_fail(DG_USAGE,
                   DG_MSG("no-momentum-saved",
                          "%s: has no tensor %s, because its run had no {momentum}; leave out {momentum}"),
                   path, name);
}

/* Copy the values of a tensor. A conditional GAN also accepts the weights of the GAN without classes: its weights for
 * classes, the last rows of G's first layer and all but the last row of D's last layer, become 0. */
static dg_err put_values(const char *path, dg_job *job, const dg_job_tensor *t, int row, const dg_st_tensor *from)
{
    const size_t bytes = dg_job_tensor_count(t) * dg_type_bytes(from->type);
    if (bytes == from->bytes) return dg_job_write(job, t, row, from->type, from->data);
    int64_t dim[4];
    bool fits = job->model.classes && from->rank == dg_job_tensor_shape(t, dim) &&
                from->dim[0] + job->model.classes == dim[0];
    for (int i = 1; i < from->rank && fits; i++) fits = from->dim[i] == dim[i];
    if (!fits)
        return dg_fail(DG_USAGE,
                       DG_MSG("init-classes", "%s: tensor %s does not fit model %s; use the weights of a GAN with as "
                                              "many classes, or (for at most 128 classes) without classes"),
                       path, t->name, job->model.name);
    char *whole = calloc(1, bytes);
    if (!whole) return dg_fail(DG_DEVICE, "%s: out of memory", path);
    memcpy(t->net == DG_G ? whole : whole + bytes - from->bytes, from->data, from->bytes);
    const dg_err e = dg_job_write(job, t, row, from->type, whole);
    free(whole);
    return e;
}

/* Load the EMA weights of a tensor. Without `moments`, the EMA starts from the trained weights. */
static dg_err put_average(const dg_st *st, const char *path, dg_job *job, const dg_job_tensor *t,
                          const dg_st_tensor *weights, bool moments)
{
    char name[80];
    snprintf(name, sizeof name, DG_CK_AVERAGE "%s", t->name);
    const dg_st_tensor *from = moments ? dg_st_find(st, name) : weights;
    if (from) return put_values(path, job, t, t->average, from);
    return dg_fail(DG_USAGE, "%s: has no tensor %s, because its run had no {ema}; leave out {ema}", path, name);
}

static dg_err put_one(const dg_st *st, const char *path, dg_job *job, const dg_job_tensor *t, const dg_ck_tensor *want,
                      bool moments)
{
    const dg_st_tensor *from = job->o.train ? dg_ck_find(st, want) : dg_ck_find_shown(st, want);
    const dg_optimizer_info *k = &dg_optimizers[job->o.optimizer];
    dg_err e = from ? put_values(path, job, t, t->row, from) : DG_OK;
    if (!e && t->average >= 0) e = put_average(st, path, job, t, from, moments);
    if (!e && moments && t->moment1 >= 0) e = put_moment(st, path, job, k->moment[0], t, t->moment1);
    if (!e && moments && t->moment2 >= 0) e = put_moment(st, path, job, k->moment[1], t, t->moment2);
    return e;
}

dg_err dg_ck_put(const dg_st *st, const char *path, dg_job *job, bool moments)
{
    dg_ck_tensor *layout = malloc(DG_CK_MOST * sizeof *layout);
    if (!layout) return dg_fail(DG_DEVICE, "%s: out of memory", path);
    const int n = dg_ck_layout(&job->model, layout);
    dg_err e = DG_OK;
    for (int i = 0; i < job->tensors && !e; i++)
        for (int k = 0; k < n && !e; k++)
            if (!strcmp(layout[k].name, job->tensor[i].name))
                e = put_one(st, path, job, &job->tensor[i], &layout[k], moments);
    free(layout);
    return e;
}

dg_err dg_checkpoint_load(const dg_st *st, const char *path, dg_job *job)
{
    bool full;
    char quoted[DG_SHELL_ROOM];
    dg_err e = dg_ck_format(st, path, &full);
    if (e) return e;
    const char *precision = dg_st_get(st, "precision");
    const dg_type type = precision && !strcmp(precision, "fp64") ? DG_F64 : DG_F32;
    if (job->o.train && !full)
        return dg_fail(DG_IO,
                       "%s: has a network but no training state; make a checkpoint from it: %s import %s --out "
                       "checkpoint.safetensors",
                       path, dg_program(), dg_shell_path(quoted, sizeof quoted, path));
    if (job->o.train && type != job->backend->real)
        return dg_fail(DG_USAGE, "%s: was trained with {precision} %s; resume it with the same {precision}", path,
                       precision);
    dg_optimizer k;
    e = dg_ck_optimizer(st, path, &k);
    if (!e && job->o.train && k != job->o.optimizer)
        return dg_fail(DG_USAGE, "%s: was trained with {optimizer} %s; resume it with the same {optimizer}", path,
                       dg_optimizers[k].name);
    if (!e) e = dg_ck_check(st, path, &job->model, full, type);
    if (!e && full) e = check_counts(st, path, job->recipe);
    return e ? e : dg_ck_put(st, path, job, job->o.train);
}

dg_err dg_weights_model(const char *path, char **text)
{
    dg_st *st = NULL;
    bool full;
    *text = NULL;
    dg_err e = dg_st_open(path, 0, &st);
    if (!e) e = dg_ck_format(st, path, &full);
    const char *stored = e ? NULL : dg_st_get(st, "model");
    if (stored && !(*text = dg_text_from_utf8(stored))) e = dg_fail(DG_DEVICE, "%s: out of memory", path);
    dg_st_free(st);
    return e;
}

dg_err dg_weights_open(const char *path, const dg_model *model, dg_st **out)
{
    bool full = false;
    dg_err e = dg_st_open(path, 0, out);
    if (e) return e;
    e = dg_ck_format(*out, path, &full);
    const char *precision = e ? NULL : dg_st_get(*out, "precision");
    const dg_type type = precision && !strcmp(precision, "fp64") ? DG_F64 : DG_F32;
    if (!e) e = dg_ck_load(*out, path, model, full, type);
    if (!e) return DG_OK;
    dg_st_free(*out);
    *out = NULL;
    return e;
}

dg_err dg_weights_put(const dg_st *st, const char *path, dg_job *job, unsigned *nets)
{
    dg_ck_tensor *layout = malloc(DG_CK_MOST * sizeof *layout);
    *nets = 0;
    if (!layout) return dg_fail(DG_DEVICE, "%s: out of memory", path);
    const int n = dg_ck_layout(&job->model, layout);
    for (int i = 0; i < n; i++)
        if (layout[i].kind == DG_PARAMETER_WEIGHT && dg_ck_find(st, &layout[i])) *nets |= 1u << layout[i].net;
    free(layout);
    return dg_ck_put(st, path, job, false);
}
