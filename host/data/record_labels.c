/* Classes and parts of files that store images and labels separately (IDX and NumPy arrays). */
#include "host/data/records_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

dg_record_file *dg_record_find(dg_record_files *f, dg_part part, bool labels)
{
    for (int i = 0; i < f->files; i++)
        if (f->file[i].part == part && f->file[i].labels == labels) return f->file + i;
    return NULL;
}

static dg_err name_class(dg_dataset *d, int label)
{
    char name[16];
    snprintf(name, sizeof name, "%d", label);
    if (!(d->class_name[d->classes] = strdup(name))) return dg_fail(DG_DEVICE, "no memory for the classes");
    d->classes++;
    return DG_OK;
}

/* Make a class of each label in r. `label_of[label]` becomes the index of the class, or -1 for a label that no image
 * has. */
static dg_err find_classes(const dg_records *r, int label_of[256], dg_dataset *d)
{
    for (int i = 0; i < 256; i++) label_of[i] = -1;
    for (int i = 0; i < r->count; i++) label_of[r->label[(size_t)i * r->label_stride]] = 0;
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
    const dg_records *r = &dg_record_find(f, DG_PART_TEST, false)->records;
    const dg_record_file *labels = dg_record_find(f, DG_PART_TEST, true);
    for (int i = 0; i < r->count; i++) {
        const uint8_t *label = r->label + (size_t)i * r->label_stride;
        if (label_of[*label] < 0)
            return dg_record_file_wrong(o, labels,
                                        dg_fail(DG_DATA, "byte %td: label %d, which no training image has",
                                                label - labels->data, *label));
    }
    return DG_OK;
}

static dg_err take_classes(const dg_dataset_options *o, dg_record_files *f, int label_of[256], dg_dataset *d)
{
    dg_record_file *images[DG_PARTS] = {dg_record_find(f, DG_PART_TRAIN, false),
                                        dg_test_wanted(o) ? dg_record_find(f, DG_PART_TEST, false) : NULL};
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

dg_err dg_records_labelled(const dg_dataset_options *o, dg_record_files *f, dg_dataset *out)
{
    int label_of[256];
    const dg_err e = take_classes(o, f, label_of, out);
    return e ? e : dg_records_into(o, f, label_of, out);
}
