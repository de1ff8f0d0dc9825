/* From a folder to a data set: its source, its two parts, what was skipped, whether it is good enough. */
#include "core/base/file_io.h"
#include "core/base/limits.h"
#include "core/base/memory_file.h"
#include "core/base/team.h"
#include "host/data/dataset_internal.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int dg_dataset_threads(const dg_dataset_options *o) { return o->threads > 0 ? o->threads : omp_get_max_threads(); }

dg_err dg_dataset_pixels(const dg_dataset_options *o, long pictures, uint8_t **out)
{
    double need = (double)pictures * o->size * o->size * o->channels;
    dg_memory_limit l;
    dg_memory_limit_read(&l);
    if (need > 0.9 * (double)l.left)
        return dg_fail(DG_DEVICE,
                       "%s: %ld images of %d x %d x %d need %.1f MB, but %s has %.1f MB, of which %.1f are left; "
                       "use {limit} or a smaller model",
                       o->dir, pictures, o->size, o->size, o->channels, need / 1e6, l.name, (double)l.all / 1e6,
                       (double)l.left / 1e6);
    *out = malloc(pictures ? (size_t)need : 1);
    if (!*out)
        return dg_fail(DG_DEVICE, "%s: no memory for %ld pictures of %d x %d x %d (%.1f MiB)", o->dir, pictures,
                       o->size, o->size, o->channels, need / 0x1p20);
    return DG_OK;
}

dg_err dg_dataset_lists(dg_dataset *out, long pictures)
{
    size_t n = pictures ? (size_t)pictures : 1;
    out->name = calloc(n, sizeof *out->name);
    out->width = calloc(n, sizeof *out->width);
    out->height = calloc(n, sizeof *out->height);
    out->kind = calloc(n, 1);
    out->did = calloc(n, 1);
    if (!out->name || !out->width || !out->height || !out->kind || !out->did)
        return dg_fail(DG_DEVICE, "no memory for the list of pictures");
    return DG_OK;
}

/* One class is none: there is nothing to tell apart. */
static dg_err check_classes(dg_dataset *d)
{
    if (d->classes != 1) return DG_OK;
    char why[300];
    snprintf(why, sizeof why, "all of them are of one class, %.200s", d->class_name[0]);
    free(d->class_name[0]);
    free(d->class_name);
    free(d->label);
    d->class_name = NULL;
    d->label = NULL;
    d->classes = 0;
    return (d->unclassified = strdup(why)) ? DG_OK : dg_fail(DG_DEVICE, "no memory for the classes");
}

static void take_fingerprint(const dg_dataset_options *o, dg_dataset *d)
{
    if (!d->fingerprint) d->fingerprint = dg_dataset_fingerprint(d, dg_dataset_threads(o));
    if (!o->labelled || (!d->classes && d->train == d->count)) return;
    uint64_t h = dg_hash(d->fingerprint, &d->train, sizeof d->train);
    if (d->classes) h = dg_hash(h, d->label, (size_t)d->count * sizeof *d->label);
    for (int i = 0; i < d->classes; i++) h = dg_hash(h, d->class_name[i], strlen(d->class_name[i]) + 1);
    d->fingerprint = h;
}

dg_err dg_dataset_read(const dg_dataset_options *o, dg_dataset *out)
{
    *out = (dg_dataset){.size = o->size, .channels = o->channels};
    if (o->channels != 1 && o->channels != 3 && o->channels != 4)
        return dg_fail(DG_USAGE, "pictures of %d channels: 1, 3 or 4 is possible", o->channels);
    if (o->size < 1 || o->size > 4096) return dg_fail(DG_USAGE, "pictures of size %d: 1 to 4096 is possible", o->size);
    dg_err e = dg_team_begin(o->threads);
    if (!e) e = dg_source_read(o, out);
    if (!e && o->any_part && !out->train) out->train = out->count;
    if (!e && !out->train && (out->count || out->aside))
        e = dg_fail(DG_DATA, "%s: has pictures for testing and none to train on", o->dir);
    if (!e) e = check_classes(out);
    if (!e) e = dg_dataset_divide(o, out);
    if (e) dg_dataset_free(out);
    else take_fingerprint(o, out);
    return e;
}

bool dg_dataset_unread(const dg_dataset *d)
{
    bool found = false;
    for (int i = 0; i < d->skips; i++) found |= d->skip[i].unread;
    return found;
}

static bool has_list(const dg_dataset_options *o, const dg_dataset *d)
{
    return o->skipped && (!o->known || o->known == d->fingerprint || dg_dataset_unread(d));
}

bool dg_dataset_listed(const dg_dataset_options *o, const dg_dataset *d) { return d->skips && has_list(o, d); }

static dg_err write_skipped(const dg_dataset_options *o, const dg_dataset *d)
{
    if (!has_list(o, d)) return DG_OK;
    if (!d->skips) {
        /* a list from an earlier time would be a lie */
        if (o->skipped_dir) unlinkat(o->skipped_dir->fd, "skipped.txt", 0);
        else unlink(o->skipped);
        return DG_OK;
    }
    char name[2 * DG_PATH_BYTES];
    dg_memory_file m;
    FILE *f = dg_memory_open(&m);
    if (!f) return dg_fail(DG_DEVICE, "no memory for %s", o->skipped);
    for (int i = 0; i < d->skips; i++)
        fprintf(f, "%s\t%s\n", dg_printable(name, sizeof name, d->skip[i].name), d->skip[i].reason);
    const dg_err e = dg_memory_close(f, &m)
                         ? dg_write_atomic_in(o->skipped_dir, o->skipped, &(dg_chunk){m.text, m.bytes}, 1)
                         : dg_fail(DG_DEVICE, "no memory for %s", o->skipped);
    free(m.text);
    return e;
}

dg_err dg_dataset_load(const dg_dataset_options *o, dg_dataset *out)
{
    dg_err e = dg_dataset_read(o, out);
    if (e) return e;
    e = write_skipped(o, out);
    if (!e) e = dg_dataset_judge(o, out);
    if (e) dg_dataset_free(out);
    return e;
}

void dg_dataset_free(dg_dataset *d)
{
    for (int i = 0; d->name && i < d->count; i++) free(d->name[i]);
    for (int i = 0; d->skip && i < d->skips; i++) {
        free(d->skip[i].name);
        free(d->skip[i].reason);
    }
    free(d->name);
    free(d->skip);
    free(d->width);
    free(d->height);
    free(d->kind);
    free(d->did);
    free(d->label);
    for (int i = 0; d->class_name && i < d->classes; i++) free(d->class_name[i]);
    free(d->class_name);
    free(d->unclassified);
    free(d->pixels);
    *d = (dg_dataset){0};
}

const char *dg_dataset_unclassified(const dg_dataset *d)
{
    return d->unclassified ? d->unclassified : "its pictures do not lie in folders, one a class";
}

dg_err dg_dataset_check_classes(const dg_dataset *d, const char *dir, const char *model, int classes)
{
    if (!d->classes)
        return dg_fail(DG_DATA, "%s: has no classes, which model %s is to tell apart: %s", dir, model,
                       dg_dataset_unclassified(d));
    if (d->classes == classes) return DG_OK;
    if (d->classes < 2)
        return dg_fail(DG_DATA, "%s: has 1 class, %s, and a classifier needs two or more: a folder for each", dir,
                       d->class_name[0]);
    return dg_fail(DG_DATA,
                   "%s: has %d classes, %s to %s; model %s has %d: in its file, set filters of the last layer to %d, "
                   "and classes in [model], if it is there",
                   dir, d->classes, d->class_name[0], d->class_name[d->classes - 1], model, classes, d->classes);
}
