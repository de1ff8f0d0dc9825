/* Adds the images of another folder to a dataset as test images. */
#include "host/data/dataset_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static dg_err no_memory(const dg_dataset_options *o)
{
    return dg_fail(DG_DEVICE, "no memory for the test images of %s", o->dir);
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

static int class_named(const dg_dataset *d, const char *name)
{
    for (int i = 0; i < d->classes; i++)
        if (!strcmp(d->class_name[i], name)) return i;
    return -1;
}

static dg_err translate(const dg_dataset_options *o, const dg_dataset *d, dg_dataset *test)
{
    char name[1024], class[300];
    if (!d->classes) return DG_OK;
    if (!test->classes)
        return dg_fail(DG_DATA, DG_MSG("no-test-classes", "%s: has no classes for testing: %s"), o->dir,
                       dg_dataset_unclassified(test));
    for (int i = 0; i < test->count; i++) {
        const char *of = test->class_name[test->label[i]];
        const int label = class_named(d, of);
        if (label < 0)
            return dg_fail(DG_DATA, "%s/%s: class %s is not a training class", o->dir,
                           dg_printable(name, sizeof name, test->name[i]), dg_printable(class, sizeof class, of));
        test->label[i] = label;
    }
    return DG_OK;
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

dg_err dg_dataset_add_test(const dg_dataset_options *o, dg_dataset *d)
{
    dg_dataset_options of = *o;
    dg_dataset t;
    of.dir = o->test;
    of.test = of.cache = of.skipped = of.other_file = NULL;
    of.may_stay = of.keep_file = false;
    of.least = 0;
    dg_err e = dg_source_read(&of, &t);
    if (!e && t.train < t.count) e = dg_dataset_keep_test(&t);
    if (!e) e = dg_dataset_judge(&of, &t);
    if (!e) e = translate(&of, d, &t);
    for (int i = 0; i < t.count && !e; i++)
        if (!prefix(t.name + i, of.dir)) e = no_memory(&of);
    for (int i = 0; i < t.skips && !e; i++)
        if (!prefix(&t.skip[i].name, of.dir)) e = no_memory(&of);
    d->train = d->count;
    if (!e && !join(d, &t)) e = no_memory(&of);
    d->fingerprint = 0;
    dg_dataset_free(&t);
    return e;
}
