/* Reads a folder of CIFAR .bin files, or of CIFAR's Python archive, as a dataset. An image is stored as its label, then
 * 1,024 red, 1,024 green and 1,024 blue bytes. CIFAR-100 has two labels per image, coarse and fine. */
#include "host/data/records_internal.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SIDE = 32,
    IMAGE = 3 * SIDE * SIDE,
    COARSE = 20,
    NAMES_MOST = 1 << 16,
    BATCH_MOST = 256 << 20,
    BATCHES_MOST = 1 << 30
};

bool dg_cifar_named(const char *name)
{
    return !fnmatch("data_batch*.bin", name, 0) || !strcmp(name, "test_batch.bin") || !strcmp(name, "train.bin") ||
           !strcmp(name, "test.bin");
}

bool dg_cifar_batch_named(const char *name)
{
    return !fnmatch("data_batch_[0-9]", name, 0) || !strcmp(name, "test_batch") || !strcmp(name, "train") ||
           !strcmp(name, "test");
}

size_t dg_cifar_record(int classes) { return IMAGE + (classes == 100 ? 2 : 1); }

static dg_err check_labels(const uint8_t *data, size_t bytes, int classes)
{
    const size_t record = dg_cifar_record(classes);
    for (size_t at = 0; at + record <= bytes; at += record) {
        if (classes == 100 && data[at] >= COARSE)
            return dg_fail(DG_DATA, "byte %zu: coarse label %d; the coarse labels of CIFAR-100 are 0 to %d", at,
                           data[at], COARSE - 1);
        const size_t fine = at + (classes == 100);
        if (data[fine] >= classes)
            return dg_fail(DG_DATA, "byte %zu: label %d; the labels of CIFAR-%d are 0 to %d", fine, data[fine], classes,
                           classes - 1);
    }
    return DG_OK;
}

dg_err dg_cifar_records(const uint8_t *data, size_t bytes, int classes, dg_records *out)
{
    const size_t record = dg_cifar_record(classes), count = bytes / record, before = record - IMAGE;
    dg_err e = check_labels(data, bytes, classes);
    if (e) return e;
    if (!count || bytes % record)
        return dg_fail(DG_DATA,
                       "byte %zu: the file ends within a record: a CIFAR-%d record has %zu bytes, %zu are left", bytes,
                       classes, record, bytes % record);
    if (count > DG_FILES_MAX) return dg_fail(DG_DATA, "%zu images; at most %d are allowed", count, DG_FILES_MAX);
    *out = (dg_records){.pixels = data + before,
                        .label = data + before - 1,
                        .stride = record,
                        .label_stride = record,
                        .count = (int)count,
                        .width = SIDE,
                        .height = SIDE,
                        .channels = 3,
                        .kind = DG_KIND_CIFAR};
    return DG_OK;
}

/* Returns the number of classes, which is 10 or 100. If the file sizes fit neither, the first file name decides. */
static int classes_of(const dg_record_files *f)
{
    static const int kind[] = {10, 100};
    dg_records r;
    for (int k = 0; k < 2; k++) {
        int fit = 0;
        while (fit < f->files && !dg_cifar_records(f->file[fit].data, f->file[fit].bytes, kind[k], &r)) fit++;
        if (fit == f->files) return kind[k];
    }
    return strstr(f->file[0].name, "batch") ? 10 : 100;
}

static dg_err add_name(const char *file, char *line, int number, dg_dataset *d)
{
    line[strcspn(line, "\r")] = 0;
    for (int i = 0; i < d->classes; i++)
        /* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): class_name[i] is set */
        if (!strcmp(d->class_name[i], line)) return dg_fail(DG_DATA, "%s:%d: duplicate class", file, number);
    if (!(d->class_name[d->classes] = strdup(line))) return dg_fail(DG_DEVICE, "no memory for the classes");
    d->classes++;
    return DG_OK;
}

static dg_err read_names(const char *file, char *text, int classes, dg_dataset *d)
{
    dg_err e = DG_OK;
    int number = 1;
    for (char *line = text, *end; *line && !e; line = end, number++) {
        end = line + strcspn(line, "\n");
        if (*end) *end++ = 0;
        if (!*line || *line == '\r') continue;
        if (d->classes == classes) return dg_fail(DG_DATA, "%s:%d: more than %d classes", file, number, classes);
        e = add_name(file, line, number, d);
    }
    if (!e && d->classes < classes)
        e = dg_fail(DG_DATA, "%s: names %d classes; the dataset has %d classes", file, d->classes, classes);
    return e;
}

static dg_err name_classes(const dg_dataset_options *o, const dg_folder *folder, const char *first, int classes,
                           dg_dataset *d)
{
    const bool batches = dg_cifar_batch_named(first);
    const char *file = classes == 10 ? batches ? "batches.meta" : "batches.meta.txt"
                       : batches     ? "meta"
                                     : "fine_label_names.txt";
    dg_record_file f = {.name = (char *)(uintptr_t)file};
    if (!(d->class_name = calloc((size_t)classes, sizeof *d->class_name)))
        return dg_fail(DG_DEVICE, "no memory for the classes");
    uint8_t *text;
    size_t bytes;
    dg_lost lost;
    atomic_init(&lost, 0);
    bool there;
    dg_err e = dg_is_there(folder, file, &there);
    if (e) return dg_record_file_wrong(o, &f, e);
    if (!there) {
        char number[16];
        for (int i = 0; i < classes && !e; i++) {
            snprintf(number, sizeof number, "%d", i);
            e = add_name(file, number, i + 1, d);
        }
        return e;
    }
    e = dg_record_file_wrong(o, &f, dg_file_whole(folder, file, &lost, NAMES_MOST, &text, &bytes));
    if (e) return e;
    e = dg_record_file_wrong(o, &f, dg_cifar_unpickle_names(&text, &bytes));
    char *names = e ? NULL : strndup((const char *)text, bytes);
    free(text);
    if (e) return e;
    if (!names) return dg_fail(DG_DEVICE, "no memory for the classes");
    e = read_names(file, names, classes, d);
    free(names);
    return e ? dg_context(e, "%s", o->dir) : DG_OK;
}

dg_err dg_cifar_read(const dg_dataset_options *o, dg_record_files *f, dg_dataset *out)
{
    dg_err e = DG_OK;
    size_t left = BATCHES_MOST;
    for (int i = 0; i < f->files && !e; i++) {
        f->file[i].part = strstr(f->file[i].name, "test") ? DG_PART_TEST : DG_PART_TRAIN;
        e = dg_record_file_read(o, f->folder, left < BATCH_MOST ? left : BATCH_MOST, f->file + i);
        left -= e ? 0 : f->file[i].bytes;
        if (!e) e = dg_record_file_wrong(o, f->file + i, dg_cifar_unpickle(&f->file[i].data, &f->file[i].bytes));
        if (!e && dg_cifar_named(f->file[i].name) != dg_cifar_named(f->file[0].name))
            e = dg_fail(DG_DATA, "%s: %s and %s are of CIFAR's binary and Python archives; keep one of them", o->dir,
                        f->file[0].name, f->file[i].name);
    }
    if (e) return e;
    const int classes = classes_of(f);
    for (int i = 0; i < f->files && !e; i++) {
        dg_record_file *file = f->file + i;
        e = dg_record_file_wrong(o, file, dg_cifar_records(file->data, file->bytes, classes, &file->records));
    }
    if (!e) e = name_classes(o, f->folder, f->file[0].name, classes, out);
    return e ? e : dg_records_into(o, f, NULL, out);
}
