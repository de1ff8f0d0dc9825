#include "host/image/image.h"
#include "host/cli/info/info_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/checkpoint/checkpoint_layout.h"
#include "host/files/safetensors.h"
#include "host/net/recipe.h"

static unsigned long long values(const dg_st_tensor *t) { return t->bytes / dg_type_bytes(t->type); }

static dg_err add_model(cJSON *to, const dg_model *m, const dg_st *st)
{
    cJSON *o = cJSON_AddObjectToObject(to, "model");
    dg_ck_tensor *layout = malloc(DG_CK_MOST * sizeof *layout);
    if (!layout) return dg_fail(DG_DEVICE, "%s: out of memory", m->name);
    dg_info_text(o, "name", "%s", m->name);
    dg_info_text(o, "images", "%d x %d, %s", m->size.W, m->size.H, dg_channels_name(m->channels));
    if (m->net[0].latent) dg_info_whole(o, "latent", (unsigned)m->latent);
    for (int net = 0; net < m->nets; net++) {
        char widths[200] = "";
        size_t n = 0;
        const dg_net *d = &m->net[net];
        for (int i = 0; i < d->layers && n + 16 < sizeof widths; i++)
            n += (size_t)snprintf(widths + n, sizeof widths - n, "%s%d", i ? "-" : "", d->layer[i].out.C);
        unsigned long long weights = 0;
        for (int i = dg_ck_layout(m, layout) - 1; i >= 0; i--) {
            if (layout[i].net != net || layout[i].kind != DG_PARAMETER_WEIGHT) continue;
            const dg_st_tensor *t = dg_ck_find(st, &layout[i]);
            if (t) weights += values(t);
        }
        cJSON *half = cJSON_AddObjectToObject(o, dg_recipe_find(m)->net[net].name);
        dg_info_text(half, "layers", "%s", widths);
        dg_info_whole(half, "weights", weights);
    }
    free(layout);
    return DG_OK;
}

static void add_tensors(cJSON *to, const dg_st *st)
{
    cJSON *list = cJSON_AddObjectToObject(to, "tensor");
    for (int i = 0; i < dg_st_count(st); i++) {
        const dg_st_tensor *t = dg_st_at(st, i);
        char shape[160] = "";
        size_t n = 0;
        for (int d = 0; d < t->rank; d++)
            n += (size_t)snprintf(shape + n, sizeof shape - n, "%s%jd", d ? ", " : "", (intmax_t)t->dim[d]);
        dg_info_text(list, t->name, "%s [%s]", dg_st_stored_type(st, i), shape);
    }
}

static void add_meta(cJSON *to, const dg_st *st, const char *const *shown)
{
    for (int i = 0; i < dg_st_meta_count(st); i++) {
        dg_st_meta m = dg_st_meta_at(st, i);
        bool skip = !strncmp(m.key, DG_ST_CRC, sizeof DG_ST_CRC - 1) || cJSON_GetObjectItemCaseSensitive(to, m.key);
        for (const char *const *s = shown; *s; s++) skip |= !strcmp(m.key, *s);
        if (!skip) cJSON_AddStringToObject(to, m.key, m.value);
    }
}

dg_err dg_info_safetensors(const char *path, cJSON *to)
{
    static const char *const later[] = {"model", "config", "format", NULL};
    dg_st *st = NULL;
    dg_checkpoint_info info = {0};
    dg_model *m = malloc(sizeof *m);
    if (!m) return dg_fail(DG_DEVICE, "%s: out of memory", path);
    dg_err e = dg_st_open(path, 0, &st);
    const char *format = e ? NULL : dg_st_get(st, "format");
    bool ours = format && (!strcmp(format, DG_CHECKPOINT_FORMAT) || dg_ck_exported(format));
    if (!e && ours) {
        dg_st *again = NULL;
        e = dg_checkpoint_open(path, &again, m, &info); /* dg_checkpoint_open checks all values and checksums */
        dg_st_free(again);
    }
    if (!e && !ours && dg_st_get(st, DG_ST_CRC)) e = dg_st_load(st);
    if (!e) {
        const dg_recipe *r = ours ? dg_recipe_find(m) : NULL;
        const bool alone = ours && dg_ck_exported(format);
        dg_info_text(to, "kind", "%s%s", alone ? r->net[r->exported].name : "",
                     !format || !strcmp(format, "pt")        ? "tensors (safetensors)"
                     : !strcmp(format, DG_CHECKPOINT_FORMAT) ? "checkpoint"
                     : alone                                 ? " for PyTorch"
                     : !strncmp(format, "dcgan-oracle-", 13) ? "PyTorch run to replay"
                                                             : "tensors (safetensors)");
        if (format) dg_info_text(to, "format", "%s", format);
        dg_info_text(to, "checksums", "%s", dg_st_get(st, DG_ST_CRC) ? "right" : "none");
        add_meta(to, st, later);
        dg_info_whole(to, "tensors", (unsigned)dg_st_count(st));
    }
    if (!e && ours) {
        e = add_model(to, m, st);
        if (!e && *info.config) cJSON_AddStringToObject(to, "config", dg_st_get(st, "config"));
    } else if (!e) {
        add_tensors(to, st);
    }
    dg_checkpoint_info_free(&info);
    dg_st_free(st);
    free(m);
    return e;
}
