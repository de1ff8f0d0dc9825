/* Joins the images of several folders into one dataset in memory. */
#include "host/data/dataset_internal.h"
#include "host/data/dirs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static dg_err no_memory(const dg_dataset_options *o)
{
    return dg_fail(DG_DEVICE, "no memory for the images of %s", o->dir);
}

int dg_dataset_class_named(const dg_dataset *d, const char *name)
{
    for (int i = 0; i < d->classes; i++)
        if (!strcmp(d->class_name[i], name)) return i;
    return -1;
}

static bool prefix(char **text, const char *dir)
{
    const size_t bytes = strlen(dir) + strlen(*text) + 2;
    char *with = malloc(bytes);
    if (!with) return false;
    snprintf(with, bytes, "%s/%s", dir, *text);
    free(*text);
    *text = with;
    return true;
}

static bool append(void **items, int count, void *more, int extra, size_t bytes)
{
    uint8_t *all = realloc(*items, ((size_t)count + (size_t)extra) * bytes + 1);
    if (!all) return false;
    if (extra) memcpy(all + (size_t)count * bytes, more, (size_t)extra * bytes);
    *items = all;
    return true;
}

#define APPEND(d, t, member, n, bytes) \
    (p = (d)->member, ok = append(&p, (d)->n, (t)->member, (t)->n, bytes), (d)->member = p, ok)

static bool join(dg_dataset *d, dg_dataset *t)
{
    const size_t bytes = dg_size_values(d->size, d->channels);
    void *p;
    bool ok;
    if (!APPEND(d, t, pixels, count, bytes) || !APPEND(d, t, width, count, sizeof *d->width) ||
        !APPEND(d, t, height, count, sizeof *d->height) || !APPEND(d, t, kind, count, 1) ||
        !APPEND(d, t, did, count, 1) || !APPEND(d, t, hash, count, sizeof *d->hash) ||
        (d->classes && !APPEND(d, t, label, count, sizeof *d->label)) || !APPEND(d, t, skip, skips, sizeof *d->skip) ||
        !APPEND(d, t, name, count, sizeof *d->name))
        return false;
    d->count += t->count;
    d->skips += t->skips;
    d->usable += t->usable;
    d->made += t->made;
    d->hidden += t->hidden;
    t->count = t->skips = 0;
    return true;
}

dg_err dg_dataset_join(const dg_dataset_options *o, dg_dataset *d, dg_dataset *t)
{
    for (int i = 0; i < t->count; i++)
        if (!prefix(t->name + i, o->dir)) return no_memory(o);
    for (int i = 0; i < t->skips; i++)
        if (!prefix(&t->skip[i].name, o->dir)) return no_memory(o);
    d->fingerprint = 0;
    return join(d, t) ? DG_OK : no_memory(o);
}

/* Append the classes of t that d does not have, and change the labels of t to the classes of d. */
static dg_err join_classes(const dg_dataset_options *o, dg_dataset *d, dg_dataset *t)
{
    char **all = realloc(d->class_name, ((size_t)d->classes + (size_t)t->classes + 1) * sizeof *all);
    int *to = malloc(((size_t)t->classes + 1) * sizeof *to);
    if (all) d->class_name = all;
    for (int c = 0; c < t->classes && all && to; c++) {
        to[c] = dg_dataset_class_named(d, t->class_name[c]);
        if (to[c] >= 0) continue;
        if (!(all[d->classes] = strdup(t->class_name[c]))) all = NULL;
        else to[c] = d->classes++;
    }
    for (int i = 0; i < t->count && all && to; i++)
        if (t->label[i] >= 0) t->label[i] = to[t->label[i]];
    free(to);
    return all && to ? DG_OK : no_memory(o);
}

static void drop_classes(dg_dataset *d)
{
    for (int i = 0; i < d->classes; i++) free(d->class_name[i]);
    free(d->class_name);
    free(d->label);
    d->class_name = NULL;
    d->label = NULL;
    d->labels = NULL;
    d->classes = 0;
}

/* The dataset has classes if each folder has classes. */
static dg_err merge_classes(const dg_dataset_options *of, bool first, dg_dataset *d, dg_dataset *t)
{
    if (d->unclassified) return DG_OK;
    if (!t->classes) {
        drop_classes(d);
        return dg_dataset_unclassify(d, "%.200s has no classes: %.500s", of->dir, dg_dataset_unclassified(t));
    }
    if (first) d->labels = t->labels;
    else if (d->labels != t->labels) d->labels = NULL;
    return join_classes(of, d, t);
}

/* The cache of the first folder is FILE, that of the second is FILE-2, and so on. */
static dg_err read_one(const dg_dataset_options *o, const char *dir, int number, dg_dataset *out)
{
    char cache[DG_PATH_BYTES + 16];
    dg_dataset_options of = *o;
    of.dir = dir;
    of.other_file = NULL;
    of.may_stay = of.keep_file = false;
    of.least = 0;
    if (o->cache && number) {
        snprintf(cache, sizeof cache, "%.4090s-%d", o->cache, number + 1);
        of.cache = cache;
    }
    dg_err e = dg_source_read(&of, out);
    if (!e && !o->list_first && (o->strict || (!out->count && !out->aside))) e = dg_dataset_judge(&of, out);
    if (e) dg_dataset_free(out);
    return e;
}

/* Move the test images of all folders after their training images. `train` and `end` have the index after the training
 * images, and after all images, of each folder. */
static dg_err order_parts(dg_dataset *d, int dirs, const int *train, const int *end)
{
    int32_t *order = malloc(((size_t)d->count + 1) * sizeof *order);
    int n = 0, trained = 0;
    if (!order) return dg_fail(DG_DEVICE, "no memory to sort %d images", d->count);
    for (int test = 0; test < 2; test++) {
        for (int k = 0; k < dirs; k++)
            for (int i = test ? train[k] : k ? end[k - 1] : 0; i < (test ? end[k] : train[k]); i++) order[n++] = i;
        if (!test) trained = n;
    }
    const dg_err e = dg_dataset_arrange(d, order, n, trained);
    free(order);
    return e;
}

static dg_err read_all(const dg_dataset_options *o, const dg_dirs *dirs, dg_dataset *out)
{
    int train[DG_DIRS_MAX], end[DG_DIRS_MAX], usable = 0;
    dg_err e = DG_OK;
    for (int k = 0; k < dirs->n && !e; k++) {
        dg_dataset t;
        dg_dataset_options of = *o;
        of.dir = dirs->dir[k];
        e = read_one(o, of.dir, k, &t);
        if (e) return e;
        train[k] = out->count + t.train;
        e = merge_classes(&of, !k, out, &t);
        out->aside += t.aside;
        out->cached = t.cached && (out->cached || !k);
        if (!e) e = dg_dataset_join(&of, out, &t);
        end[k] = out->count;
        usable += t.usable;
        dg_dataset_free(&t);
    }
    out->usable = usable;
    if (!e) e = order_parts(out, dirs->n, train, end);
    return e || o->limit <= 0 ? e : dg_dataset_first(out, o->limit);
}

dg_err dg_dirs_read(const dg_dataset_options *o, dg_dataset *out)
{
    dg_dirs dirs;
    dg_dirs_split(o->dir, &dirs);
    if (dirs.n == 1) {
        dg_dataset_options one = *o;
        one.dir = dirs.dir[0];
        return dg_source_read(&one, out);
    }
    *out = (dg_dataset){.size = o->size, .channels = o->channels};
    const dg_err e = read_all(o, &dirs, out);
    if (e) dg_dataset_free(out);
    return e;
}
