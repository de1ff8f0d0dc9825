/* Reads the arrays of images and labels in an .npz file, or in a folder of .npy files, as a dataset: MNIST of Keras
 * (x_train, y_train, x_test, y_test) and datasets such as MedMNIST (train_images, train_labels, val_images, ...). */
#include "host/data/records_internal.h"
#include "host/files/made.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const uint64_t BYTES_MOST = (uint64_t)8 << 30;

typedef struct {
    const char *name;
    dg_part part;
    bool labels, second; /* second: of validation images, which are test images if there are no others */
} role;

static const role *role_of(const char *file)
{
    static const role known[] = {
        {"x_train.npy", DG_PART_TRAIN, false, false},      {"y_train.npy", DG_PART_TRAIN, true, false},
        {"x_test.npy", DG_PART_TEST, false, false},        {"y_test.npy", DG_PART_TEST, true, false},
        {"x_val.npy", DG_PART_TEST, false, true},          {"y_val.npy", DG_PART_TEST, true, true},
        {"train_images.npy", DG_PART_TRAIN, false, false}, {"train_labels.npy", DG_PART_TRAIN, true, false},
        {"test_images.npy", DG_PART_TEST, false, false},   {"test_labels.npy", DG_PART_TEST, true, false},
        {"val_images.npy", DG_PART_TEST, false, true},     {"val_labels.npy", DG_PART_TEST, true, true},
        {"images.npy", DG_PART_TRAIN, false, false},       {"labels.npy", DG_PART_TRAIN, true, false},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcasecmp(known[i].name, file)) return known + i;
    return NULL;
}

bool dg_npz_named(const char *name) { return role_of(name) != NULL; }

/* Drop the validation images if there are test images. */
static void drop_second(const dg_dataset_options *o, dg_record_files *f)
{
    bool tested = false;
    int n = 0;
    for (int i = 0; i < f->files; i++) {
        const role *r = role_of(f->file[i].name);
        tested |= r->part == DG_PART_TEST && !r->labels && !r->second;
    }
    for (int i = 0; i < f->files; i++) {
        const role *r = role_of(f->file[i].name);
        if (!tested || !r->second) {
            f->file[n++] = f->file[i];
            continue;
        }
        if (!r->labels) dg_warn("%s: %s is left out, because another array has the test images", o->dir, r->name);
        free(f->file[i].name);
    }
    f->files = n;
}

/* Read a file of the size that its header declares. */
static dg_err read_file(const dg_dataset_options *o, const dg_record_files *f, dg_record_file *file)
{
    uint8_t head[DG_HEAD_BYTES];
    size_t bytes;
    dg_npy a = {.rank = 0};
    dg_lost lost;
    atomic_init(&lost, 0);
    dg_err e = dg_file_head(f->folder, file->name, &lost, head, sizeof head, &bytes);
    if (!e) e = dg_npy_head(head, bytes, &a);
    uint64_t most = a.type[2] >= '1' && a.type[2] <= '8' ? (uint64_t)(a.type[2] - '0') : 1;
    for (int i = 0; i < a.rank && !e; i++) {
        most = a.dim[i] && most > BYTES_MOST / a.dim[i] ? BYTES_MOST + 1 : most * a.dim[i];
        if (most > BYTES_MOST) e = dg_fail(DG_DATA, "byte 0: the header declares more than 8 GiB");
    }
    return e ? dg_record_file_wrong(o, file, e) : dg_record_file_read(o, f->folder, (size_t)most + a.begin, file);
}

static dg_err pair(const dg_dataset_options *o, dg_record_files *f, dg_part part)
{
    dg_record_file *images = dg_record_find(f, part, false), *labels = dg_record_find(f, part, true);
    if (labels && !images)
        return dg_record_file_wrong(o, labels, dg_fail(DG_DATA, "the array of the images of these labels is missing"));
    if (!images) return DG_OK;
    const dg_err e = dg_npy_images(images->data, images->bytes, &images->records);
    if (e || !labels) return dg_record_file_wrong(o, images, e);
    return dg_record_file_wrong(o, labels, dg_npy_labels(labels->data, labels->bytes, &images->records));
}

dg_err dg_npz_read(const dg_dataset_options *o, dg_record_files *f, dg_dataset *out)
{
    dg_err e = DG_OK;
    drop_second(o, f);
    for (int i = 0; i < f->files && !e; i++) {
        const role *r = role_of(f->file[i].name);
        const dg_record_file *first;
        f->file[i].part = r->part;
        f->file[i].labels = r->labels;
        first = dg_record_find(f, r->part, r->labels);
        if (first != f->file + i)
            e = dg_fail(DG_DATA, "%s: %s and %s both contain the %s for %s; keep one of them", o->dir, first->name,
                        f->file[i].name, r->labels ? "labels" : "images", r->part ? "testing" : "training");
        else e = read_file(o, f, f->file + i);
    }
    for (int part = 0; part < DG_PARTS && !e; part++) e = pair(o, f, (dg_part)part);
    return e ? e : dg_records_labelled(o, f, out);
}
