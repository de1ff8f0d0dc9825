#include "host/inception/weights.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/build_info.h"
#include "core/base/shell.h"
#include "host/files/replace.h"
#include "host/inception/layers.h"

static const char *const part[] = {"conv.weight", "bn.weight", "bn.bias", "bn.running_mean", "bn.running_var"};
enum { PARTS = sizeof part / sizeof part[0] };

static const dg_st_tensor *find(const dg_inception_weights *w, const char *name)
{
    if (w->st) return dg_st_find(w->st, name);
    for (int i = 0; i < dg_torch_count(w->torch); i++)
        if (!strcmp(dg_torch_at(w->torch, i)->name, name)) return dg_torch_at(w->torch, i);
    return NULL;
}

dg_err dg_inception_tensor(const dg_inception_weights *w, const char *layer, const char *of, int rank,
                           const dg_st_tensor **out)
{
    char name[128];
    snprintf(name, sizeof name, "%s.%s", layer, of);
    const dg_st_tensor *t = *out = find(w, name);
    if (t && t->type == DG_F32 && t->rank == rank) return DG_OK;
    return dg_fail(DG_DATA,
                   DG_MSG("inception-tensor",
                          "%s: tensor %s %s; give pytorch-fid's file "
                          "pt_inception-2015-12-05-" DG_INCEPTION_DIGITS ".pth, or its conversion by %s import"),
                   w->path, name, t ? "has a wrong type or rank" : "is missing", dg_program());
}

/* Call `each` with every tensor of the network, in the order of computation. */
static dg_err walk(const dg_inception_weights *w, void (*each)(void *to, const dg_st_tensor *t), void *to)
{
    dg_err e = DG_OK;
    for (int b = 0; b < DG_INCEPTION_BLOCKS; b++)
        for (int i = 0; i < dg_inception_blocks[b].rows * PARTS && !e; i++) {
            const dg_inception_row *r = &dg_inception_blocks[b].row[i / PARTS];
            const dg_st_tensor *t;
            char layer[64];
            if (!r->name) continue;
            snprintf(layer, sizeof layer, "%s%s", dg_inception_blocks[b].name, r->name);
            e = dg_inception_tensor(w, layer, part[i % PARTS], i % PARTS ? 1 : 4, &t);
            if (!e) each(to, t);
        }
    return e;
}

static void hash(void *to, const dg_st_tensor *t)
{
    dg_sha256_add(to, t->name, strlen(t->name) + 1);
    dg_sha256_add(to, t->data, t->bytes);
}

/* Converted weights are known if their source is, and if their values are still those of the source. */
static dg_err recognise(dg_inception_weights *w)
{
    dg_sha256 s;
    dg_sha256_begin(&s);
    const dg_err e = walk(w, hash, &s);
    dg_sha256_end(&s, w->tensors);
    const char *source = w->st ? dg_st_get(w->st, "source") : dg_torch_sha256(w->torch);
    const char *same = w->st ? dg_st_get(w->st, "tensors") : w->tensors;
    if (e || !source || !same || strlen(source) >= sizeof w->source) return e;
    snprintf(w->source, sizeof w->source, "%s", source);
    w->known = !strncmp(source, DG_INCEPTION_DIGITS, strlen(DG_INCEPTION_DIGITS));
    if (strcmp(same, w->tensors))
        return dg_fail(DG_DATA,
                       DG_MSG("inception-changed",
                              "%s: the tensors differ from those of the converted file; convert it "
                              "again: %s import FILE.pth --out %s"),
                       w->path, dg_program(), w->path);
    return DG_OK;
}

dg_err dg_inception_weights_read(const char *path, dg_inception_weights *w)
{
    *w = (dg_inception_weights){.path = path};
    const dg_err e = dg_torch_inside(path) ? dg_torch_read(path, &w->torch) : dg_st_read(path, 0, &w->st);
    return e ? e : recognise(w);
}

void dg_inception_weights_free(dg_inception_weights *w)
{
    dg_st_free(w->st);
    dg_torch_free(w->torch);
    w->st = NULL;
    w->torch = NULL;
}

typedef struct {
    dg_st_tensor tensor[DG_INCEPTION_CONVS * PARTS];
    int count;
} list;

static void add(void *to, const dg_st_tensor *t)
{
    list *l = to;
    l->tensor[l->count++] = *t;
}

static dg_err write(const dg_inception_weights *w, const char *out)
{
    list *l = calloc(1, sizeof *l);
    if (!l) return dg_fail(DG_DEVICE, "%s: out of memory", out);
    const dg_st_meta meta[] = {{"format", DG_INCEPTION_FORMAT},
                               {"version", dg_version},
                               {"source", w->source},
                               {"tensors", w->tensors}};
    dg_err e = walk(w, add, l);
    if (!e) e = dg_st_write(out, l->tensor, l->count, meta, sizeof meta / sizeof meta[0], true);
    free(l);
    return e;
}

dg_err dg_inception_convert(const char *path, const char *out, bool *done)
{
    dg_inception_weights w = {.path = path};
    *done = false;
    if (!dg_torch_inside(path)) return DG_OK;
    dg_err e = dg_torch_read(path, &w.torch);
    if (!e) *done = find(&w, "Conv2d_1a_3x3.conv.weight") != NULL;
    if (*done) e = recognise(&w);
    if (*done && !e && !w.known)
        dg_warn(DG_MSG("inception-unknown", "%s: the SHA-256 begins with %.8s, not with " DG_INCEPTION_DIGITS
                                            ": unknown weights, whose distances are not called FID"),
                path, w.source);
    if (*done && !e) e = dg_may_replace(out, DG_MADE_INCEPTION);
    if (*done && !e) e = write(&w, out);
    dg_inception_weights_free(&w);
    return e;
}
