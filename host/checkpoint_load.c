/* Reading checkpoints: what they say of themselves, and their values into a gan. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint.h"

static dg_err number(const dg_st *st, const char *path, const char *key, uint64_t *out)
{
    const char *text = dg_st_get(st, key);
    char *end = NULL;
    errno = 0;
    if (text && text[0] >= '0' && text[0] <= '9') *out = strtoull(text, &end, 10);
    if (!end || *end || errno) return dg_fail(DG_IO, "%s: its %s is %s, not a whole number", path, key, text ? text : "missing");
    return DG_OK;
}

dg_err dg_checkpoint_open(const char *path, dg_st **st, dg_model *model, dg_checkpoint_info *info)
{
    memset(info, 0, sizeof *info);
    dg_err e = dg_st_read(path, DG_ST_CHECKED, st);
    if (e) return e;
    const char *format = dg_st_get(*st, "format"), *precision = dg_st_get(*st, "precision"), *text = dg_st_get(*st, "model"), *config = dg_st_get(*st, "config");
    if (!format || strcmp(format, "dcgan-checkpoint-1"))
        e = dg_fail(DG_IO, "%s: is no checkpoint of dcgan (format %s, not dcgan-checkpoint-1); a generator from elsewhere comes in by `dcgan import`", path,
                    format ? format : "missing");
    if (!e && (!precision || (strcmp(precision, "fp32") && strcmp(precision, "fp64")) || !text)) e = dg_fail(DG_IO, "%s: says neither precision nor model", path);
    if (!e) e = dg_model_parse(text, path, model);
    if (!e) e = number(*st, path, "step", &info->step);
    if (!e) e = number(*st, path, "epoch", &info->epoch);
    if (!e) e = number(*st, path, "batch-in-epoch", &info->batch);
    if (!e) e = number(*st, path, "seed", &info->seed);
    if (!e) e = number(*st, path, "data-count", &info->data_count);
    if (!e) e = number(*st, path, "data-fingerprint", &info->data_fingerprint);
    if (!e) {
        snprintf(info->precision, sizeof info->precision, "%s", precision);
        info->config = strdup(config ? config : "");
        if (!info->config) e = dg_fail(DG_DEVICE, "%s: out of memory", path);
    }
    if (!e) return DG_OK;
    dg_checkpoint_info_free(info);
    dg_st_free(*st);
    *st = NULL;
    return e;
}

void dg_checkpoint_info_free(dg_checkpoint_info *info)
{
    free(info->config);
    memset(info, 0, sizeof *info);
}

/* The tensor that should hold t, checked for type and shape. */
static const dg_st_tensor *wanted(const dg_st *st, const char *path, const char *prefix, const dg_gan_tensor *t)
{
    char name[160];
    snprintf(name, sizeof name, "%s%s", prefix, t->name);
    const dg_st_tensor *from = dg_st_find(st, name);
    if (!from) {
        dg_fail(DG_IO, "%s: has no tensor %s", path, name);
        return NULL;
    }
    bool same = from->rank == t->rank;
    for (int i = 0; same && i < t->rank; i++) same = from->dim[i] == t->dim[i];
    if (!same) {
        dg_fail(DG_IO, "%s: tensor %s has not the shape that its model says", path, name);
        return NULL;
    }
    if (from->type != DG_F32 && from->type != DG_F64) {
        dg_fail(DG_IO, "%s: tensor %s is neither F32 nor F64", path, name);
        return NULL;
    }
    return from;
}

/* Values that no training leaves behind would poison it silently: refuse them here. */
static dg_err check_values(const dg_st_tensor *t, const char *path, bool not_negative)
{
    size_t n = t->bytes / dg_type_bytes(t->type);
    for (size_t i = 0; i < n; i++) {
        double v = t->type == DG_F64 ? ((const double *)t->data)[i] : (double)((const float *)t->data)[i];
        if (!isfinite(v)) return dg_fail(DG_IO, "%s: value %zu of %s is not finite", path, i, t->name);
        if (not_negative && v < 0) return dg_fail(DG_IO, "%s: value %zu of %s is negative", path, i, t->name);
    }
    return DG_OK;
}

static dg_err load_one(const dg_st *st, const char *path, dg_gan *gan, const char *prefix, const dg_gan_tensor *t, int row)
{
    const dg_st_tensor *from = wanted(st, path, prefix, t);
    if (!from) return DG_IO;
    bool variance = !strcmp(prefix, "adam.v.") || !strcmp(strrchr(t->name, '.'), ".running_var");
    dg_err e = check_values(from, path, variance);
    return e ? e : dg_gan_write(gan, t, row, from->type, from->data);
}

dg_err dg_checkpoint_load(const dg_st *st, const char *path, dg_gan *gan)
{
    for (int i = 0; i < gan->tensors; i++) {
        const dg_gan_tensor *t = &gan->tensor[i];
        dg_gan_tensor bare = *t;
        /* a generator alone, as PyTorch and `dcgan export` write it, has no "G." */
        if (!gan->o.train && !dg_st_find(st, t->name) && t->net == DG_G) snprintf(bare.name, sizeof bare.name, "%s", t->name + 2);
        dg_err e = load_one(st, path, gan, "", &bare, t->row);
        if (!e && gan->o.train && t->moment1 >= 0) e = load_one(st, path, gan, "adam.m.", t, t->moment1);
        if (!e && gan->o.train && t->moment2 >= 0) e = load_one(st, path, gan, "adam.v.", t, t->moment2);
        if (e) return e;
    }
    return DG_OK;
}
