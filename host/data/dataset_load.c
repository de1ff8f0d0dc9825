/* Loads a dataset: reads it, chooses the test images, lists skipped files, and checks the number of valid images. */
#include "core/base/file_io.h"
#include "core/base/memory_file.h"
#include "core/base/team.h"
#include "host/data/dataset_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Drop the labels of a dataset with a single class, because a classifier needs two classes. */
static dg_err check_classes(dg_dataset *d)
{
    if (d->classes != 1) return DG_OK;
    char why[300];
    snprintf(why, sizeof why, "all images are in one class, %.200s", d->class_name[0]);
    free(d->class_name[0]);
    free(d->class_name);
    free(d->label);
    d->class_name = NULL;
    d->label = NULL;
    d->classes = 0;
    d->single = true;
    return (d->unclassified = strdup(why)) ? DG_OK : dg_fail(DG_DEVICE, "no memory for the classes");
}

uint64_t dg_hash_labels(uint64_t h, const dg_dataset *d)
{
    h = dg_hash(h, &d->train, sizeof d->train);
    if (d->classes) h = dg_hash(h, d->label, (size_t)d->count * sizeof *d->label);
    for (int i = 0; i < d->classes; i++) h = dg_hash(h, d->class_name[i], strlen(d->class_name[i]) + 1);
    return h;
}

static void take_fingerprint(const dg_dataset_options *o, dg_dataset *d)
{
    if (!d->fingerprint) d->fingerprint = dg_dataset_fingerprint(d, dg_dataset_threads(o));
    if ((o->labelled || o->hash_labels) && (d->classes || d->train < d->count))
        d->fingerprint = dg_hash_labels(d->fingerprint, d);
}

dg_err dg_dataset_read(const dg_dataset_options *o, dg_dataset *out)
{
    *out = (dg_dataset){.size = o->size, .channels = o->channels};
    if (o->channels != 1 && o->channels != 3 && o->channels != 4)
        return dg_fail(DG_USAGE, "images of %d channels: must be 1, 3 or 4", o->channels);
    if (dg_shorter_side(o->size) < 1 || dg_longer_side(o->size) > 4096)
        return dg_fail(DG_USAGE, "image size %d x %d: sides must be 1 to 4096", o->size.W, o->size.H);
    dg_err e = dg_team_begin(o->threads);
    dg_dataset_options all = *o;
    /* images of two folders are joined in memory */
    if (o->labelled && o->test && dg_test_share(o->test) < 0) all.may_stay = false;
    if (!e) e = dg_dirs_read(&all, out);
    if (!e && o->any_part && !out->train) out->train = out->count;
    if (!e && !out->train && (out->count || out->aside))
        e = dg_fail(DG_DATA, DG_MSG("no-training-part", "%s: has test images but no training images"), o->dir);
    if (!e) e = check_classes(out);
    if (!e) e = dg_dataset_divide(o, out);
    if (!e && o->labelled && o->test && dg_test_share(o->test) < 0) e = dg_dataset_add_test(o, out);
    if (e) dg_dataset_free(out);
    else take_fingerprint(o, out);
    return e;
}

static dg_err write_skipped(const dg_dataset_options *o, const dg_dataset *d)
{
    if (!dg_dataset_lists_skips(o, d)) return DG_OK;
    if (!d->skips) {
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
