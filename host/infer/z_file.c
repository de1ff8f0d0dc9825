/* Reads and writes latent vectors as the tensor "z" of a safetensors file. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/build_info.h"
#include "host/files/replace.h"
#include "host/infer/latents.h"

const dg_st_tensor *dg_z_tensor(const dg_st *st, const char *path, int latent)
{
    const dg_st_tensor *t = dg_st_find(st, "z");
    if (!t) {
        dg_set_message(DG_MSG("no-z", "%s: has no tensor z; {write-z} writes the latents of samples"), path);
        return NULL;
    }
    bool fits = (t->type == DG_F32 || t->type == DG_F64) && (t->rank == 2 || t->rank == 4) && t->dim[0] >= 1 &&
                t->dim[0] <= DG_Z_ROWS && t->dim[1] == latent;
    for (int i = 2; i < t->rank; i++) fits &= t->dim[i] == 1;
    if (fits) return t;
    char shape[200] = "";
    for (int i = 0; i < t->rank; i++)
        snprintf(shape + strlen(shape), sizeof shape - strlen(shape), "%s%lld", i ? " x " : "", (long long)t->dim[i]);
    dg_set_message("%s: tensor z has shape %s and type %s; the generator needs N x %d floating-point "
                   "values, with N from 1 to %d",
                   path, shape, dg_st_type_name[t->type], latent, DG_Z_ROWS);
    return NULL;
}

dg_err dg_z_read(const char *path, int latent, float **z, int *n)
{
    dg_st *st = NULL;
    *z = NULL;
    dg_err e = dg_st_open(path, 0, &st);
    const dg_st_tensor *t = e ? NULL : dg_z_tensor(st, path, latent);
    if (!e && !t) e = DG_IO;
    if (!e) e = dg_st_load(st);
    const size_t count = e ? 0 : (size_t)t->dim[0] * (size_t)latent;
    if (!e && !(*z = malloc(count * sizeof **z))) e = dg_fail(DG_DEVICE, "%s: out of memory", path);
    for (size_t i = 0; i < count && !e; i++) {
        (*z)[i] = t->type == DG_F32 ? ((const float *)t->data)[i] : (float)((const double *)t->data)[i];
        if (!isfinite((*z)[i]))
            e = dg_fail(DG_IO, "%s: value %zu of latent %zu is %g", path, i % (size_t)latent, i / (size_t)latent,
                        (double)(*z)[i]);
    }
    if (!e) *n = (int)t->dim[0];
    dg_st_free(st);
    if (!e) return DG_OK;
    free(*z);
    *z = NULL;
    return e;
}

dg_err dg_z_read_classes(const char *path, int n, int classes, int64_t **class)
{
    dg_st *st = NULL;
    *class = NULL;
    dg_err e = dg_st_open(path, 0, &st);
    const dg_st_tensor *t = e ? NULL : dg_st_find(st, "class");
    if (t && (t->type != DG_I64 || t->rank != 1 || t->dim[0] != n))
        e = dg_fail(DG_IO, "%s: tensor class: must have type I64 and shape %d, one class per latent", path, n);
    if (!e && t) e = dg_st_load(st);
    if (!e && t && !(*class = malloc((size_t)n * sizeof **class))) e = dg_fail(DG_DEVICE, "%s: out of memory", path);
    for (int i = 0; i < n && !e && t; i++) {
        (*class)[i] = ((const int64_t *)t->data)[i];
        if ((*class)[i] < 0 || (*class)[i] >= classes)
            e = dg_fail(DG_IO, "%s: latent %d has class %lld; the generator has %d classes, numbered from 0", path, i,
                        (long long)(*class)[i], classes);
    }
    dg_st_free(st);
    return e;
}

dg_err dg_z_write(const char *path, const float *z, const int64_t *class, int n, int latent, const char *key,
                  const char *value)
{
    const dg_st_tensor t[] = {
        {.name = "z",
         .type = DG_F32,
         .rank = 4,
         .dim = {n, latent, 1, 1},
         .data = z,
         .bytes = (size_t)n * (size_t)latent * sizeof *z},
        {.name = "class", .type = DG_I64, .rank = 1, .dim = {n}, .data = class, .bytes = (size_t)n * sizeof *class}};
    const dg_st_meta meta[] = {{"format", DG_Z_FORMAT}, {"version", dg_version}, {key, value}};
    return dg_st_write(path, t, class ? 2 : 1, meta, 3, true);
}
