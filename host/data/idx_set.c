/* A folder of IDX files as a dataset: images and labels for training and testing. */
#include "host/files/made.h"
#include "host/data/records_internal.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool dg_idx_named(const char *name)
{
    return !fnmatch("*idx[13]-ubyte", name, 0) || !fnmatch("*idx[13]-ubyte.gz", name, 0);
}

static bool is_test(const char *name) { return strstr(name, "t10k") || strstr(name, "test"); }

static bool packed_twin(const char *packed, const char *plain)
{
    const size_t n = strlen(plain);
    return !strncmp(packed, plain, n) && !strcmp(packed + n, ".gz");
}

static dg_record_file *find(dg_record_files *f, dg_part part, bool labels)
{
    for (int i = 0; i < f->files; i++)
        if (f->file[i].part == part && f->file[i].labels == labels) return f->file + i;
    return NULL;
}

/* Read a file. The size limit also applies to uncompressed files, because a sparse file can be huge. */
static dg_err read_file(const dg_dataset_options *o, const dg_record_files *f, dg_record_file *file)
{
    uint8_t head[DG_HEAD_BYTES];
    size_t bytes;
    uint64_t limit;
    dg_lost lost;
    atomic_init(&lost, 0);
    dg_err e = dg_file_head(f->folder, file->name, &lost, head, sizeof head, &bytes);
    if (!e) e = dg_idx_limit(head, bytes, &limit);
    return e ? dg_record_file_wrong(o, file, e) : dg_record_file_read(o, f->folder, (size_t)limit, file);
}

/* Find the role of each file (images or labels, training or test). Prefer an uncompressed file to its gzipped copy. */
static dg_err sort_out(const dg_dataset_options *o, dg_record_files *f)
{
    for (int i = 0; i < f->files; i++)
        for (int k = 0; k < f->files; k++)
            if (packed_twin(f->file[i].name, f->file[k].name)) {
                free(f->file[i].name);
                memmove(f->file + i, f->file + i + 1, sizeof *f->file * (size_t)(--f->files - i));
                i = -1;
                break;
            }
    for (int i = 0; i < f->files; i++) {
        dg_record_file *file = f->file + i, *first;
        file->part = is_test(file->name) ? DG_PART_TEST : DG_PART_TRAIN;
        dg_err e = read_file(o, f, file);
        if (!e) e = dg_record_file_wrong(o, file, dg_idx_unpack(&file->data, &file->bytes));
        if (e) return e;
        const int dimensions = dg_idx_dimensions(file->data, file->bytes);
        file->labels = dimensions ? dimensions == 1 : strstr(file->name, "idx1") != NULL;
        first = find(f, file->part, file->labels);
        if (first && first != file)
            return dg_fail(DG_DATA, "%s: %s and %s both contain the %s for %s; keep one of them", o->dir, first->name,
                           file->name, file->labels ? "labels" : "images",
                           file->part == DG_PART_TEST ? "testing" : "training");
    }
    return DG_OK;
}

static dg_err pair(const dg_dataset_options *o, dg_record_files *f, dg_part part)
{
    dg_record_file *images = find(f, part, false), *labels = find(f, part, true);
    if (labels && !images)
        return dg_record_file_wrong(o, labels, dg_fail(DG_DATA, "the image file for these labels is missing"));
    if (!images) return DG_OK;
    dg_err e = dg_idx_images(images->data, images->bytes, &images->records);
    if (e || !labels) return dg_record_file_wrong(o, images, e);
    return dg_record_file_wrong(o, labels, dg_idx_labels(labels->data, labels->bytes, &images->records));
}

static dg_err name_class(dg_dataset *d, int label)
{
    char name[16];
    snprintf(name, sizeof name, "%d", label);
    if (!(d->class_name[d->classes] = strdup(name))) return dg_fail(DG_DEVICE, "no memory for the classes");
    d->classes++;
    return DG_OK;
}

/* Make a class of each label that occurs. label_of[label]: index of the class; -1: no image has this label. */
static dg_err find_classes(const dg_records *r, int label_of[256], dg_dataset *d)
{
    for (int i = 0; i < 256; i++) label_of[i] = -1;
    for (int i = 0; i < r->count; i++) label_of[r->label[i]] = 0;
    dg_err e = DG_OK;
    if (!(d->class_name = calloc(256, sizeof *d->class_name))) return dg_fail(DG_DEVICE, "no memory for the classes");
    for (int i = 0; i < 256 && !e; i++) {
        if (label_of[i] < 0) continue;
        label_of[i] = d->classes;
        e = name_class(d, i);
    }
    return e;
}

static dg_err check_test(const dg_dataset_options *o, dg_record_files *f, const int label_of[256])
{
    const dg_records *r = &find(f, DG_PART_TEST, false)->records;
    for (int i = 0; i < r->count; i++)
        if (label_of[r->label[i]] < 0)
            return dg_record_file_wrong(o, find(f, DG_PART_TEST, true),
                                        dg_fail(DG_DATA, "byte %d: label %d, which no training image has", 8 + i,
                                                r->label[i]));
    return DG_OK;
}

static dg_err take_classes(const dg_dataset_options *o, dg_record_files *f, int label_of[256], dg_dataset *d)
{
    dg_record_file *images[DG_PARTS] = {find(f, DG_PART_TRAIN, false),
                                        dg_test_wanted(o) ? find(f, DG_PART_TEST, false) : NULL};
    for (int i = 0; i < DG_PARTS; i++) {
        if (!images[i] || images[i]->records.label) continue;
        char why[300];
        snprintf(why, sizeof why, "%.200s has no label file", images[i]->name);
        return (d->unclassified = strdup(why)) ? DG_OK : dg_fail(DG_DEVICE, "no memory for the classes");
    }
    const dg_record_file *from = images[DG_PART_TRAIN] ? images[DG_PART_TRAIN] : images[DG_PART_TEST];
    dg_err e = from ? find_classes(&from->records, label_of, d) : DG_OK;
    return e || !images[DG_PART_TEST] ? e : check_test(o, f, label_of);
}

dg_err dg_idx_read(const dg_dataset_options *o, dg_record_files *f, dg_dataset *out)
{
    int label_of[256];
    dg_err e = sort_out(o, f);
    for (int part = 0; part < DG_PARTS && !e; part++) e = pair(o, f, (dg_part)part);
    if (!e) e = take_classes(o, f, label_of, out);
    return e ? e : dg_records_into(o, f, label_of, out);
}
