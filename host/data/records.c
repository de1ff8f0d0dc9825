/* Pictures from files of records into the array of a data set. */
#include "host/data/records.h"
#include "host/data/records_internal.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* (H, W, C) bytes of one picture. */
static void unfold(const dg_records *r, int i, dg_image *out)
{
    const uint8_t *from = r->pixels + (size_t)i * r->stride;
    const size_t plane = (size_t)r->width * (size_t)r->height, C = (size_t)out->C;
    for (size_t c = 0; c < C; c++, from += r->channels == 3 ? plane : 0)
        for (size_t p = 0; p < plane; p++) out->pixels[C * p + c] = from[p];
}

static dg_err take(const dg_dataset_options *o, const dg_records *r, int i, uint8_t *to)
{
    const size_t plane = (size_t)r->width * (size_t)r->height;
    dg_image im = {r->width, r->height, o->channels > r->channels ? o->channels : r->channels, NULL}, fitted;
    im.pixels = malloc(plane * (size_t)im.C);
    if (!im.pixels) return dg_fail(DG_DEVICE, "no memory for a picture of %d x %d", im.W, im.H);
    unfold(r, i, &im);
    if (o->channels == 1) dg_image_grey(&im);
    dg_err e = DG_OK;
    if (im.W == o->size && im.H == o->size) memcpy(to, im.pixels, plane * (size_t)im.C);
    else if (!(e = dg_image_fit(&im, o->size, o->fit, &fitted))) {
        memcpy(to, fitted.pixels, (size_t)o->size * (size_t)o->size * (size_t)o->channels);
        dg_image_free(&fitted);
    }
    dg_image_free(&im);
    return e;
}

static dg_err stopped(const dg_dataset_options *o)
{
    if ((o->stop && *o->stop) || (o->cancelled && o->cancelled(o->cancel_arg)))
        return dg_fail(DG_FAILED, "stopped while reading pictures");
    return DG_OK;
}

static dg_err take_all(const dg_dataset_options *o, const dg_records *r, int first, dg_dataset *out)
{
    const size_t bytes = (size_t)o->size * (size_t)o->size * (size_t)o->channels;
    dg_err error = DG_OK;
    char message[DG_MESSAGE_BYTES] = "";
#pragma omp parallel for schedule(static) num_threads(dg_dataset_threads(o))
    for (int i = 0; i < r->count; i++) {
        dg_err e;
#pragma omp atomic read
        e = error;
        if (e) continue;
        if (i % 64 == 0) e = stopped(o);
        if (!e) e = take(o, r, i, out->pixels + (size_t)(first + i) * bytes);
        if (!e) continue;
#pragma omp critical(dg_records_error)
        {
            snprintf(message, sizeof message, "%s", dg_message());
#pragma omp atomic write
            error = e;
        }
    }
    return error ? dg_fail(error, "%s", message) : DG_OK;
}

dg_err dg_records_take(const dg_dataset_options *o, const dg_records *r, const char *part, int number,
                       const int *label_of, dg_dataset *out)
{
    dg_err e = take_all(o, r, out->count, out);
    for (int i = 0; i < r->count && !e; i++) {
        char name[64];
        const int to = out->count;
        snprintf(name, sizeof name, "%s/%05d", part, number + i);
        if (!(out->name[to] = strdup(name))) return dg_fail(DG_DEVICE, "no memory for the list of pictures");
        out->count++;
        out->width[to] = r->width;
        out->height[to] = r->height;
        out->kind[to] = r->channels == 3 ? DG_KIND_CIFAR : DG_KIND_IDX;
        if (!out->label) continue;
        const int label = r->label[(size_t)i * r->label_stride];
        out->label[to] = label_of ? label_of[label] : label;
    }
    return e;
}

dg_err dg_record_file_wrong(const dg_dataset_options *o, const dg_record_file *f, dg_err e)
{
    char name[1024];
    return dg_context(e, "%s/%s", o->dir, dg_printable(name, sizeof name, f->name));
}

dg_err dg_record_file_read(const dg_dataset_options *o, int folder, dg_record_file *f)
{
    dg_lost lost;
    atomic_init(&lost, 0);
    return dg_record_file_wrong(o, f, dg_file_whole(folder, f->name, &lost, (size_t)1 << 40, &f->data, &f->bytes));
}

/* Pictures of a file that are wanted, `taken` of its part being there already. */
static int wanted(const dg_dataset_options *o, const dg_record_file *f, int taken)
{
    const int n = f->labels ? 0 : f->records.count;
    return o->limit > 0 && n > o->limit - taken ? o->limit - taken : n;
}

/* The test part is only for classifiers, and not for those that bring another one. */
bool dg_test_wanted(const dg_dataset_options *o) { return o->labelled && !o->test; }

static dg_err count_all(const dg_dataset_options *o, const dg_record_files *f, long total[DG_PARTS])
{
    for (int i = 0; i < f->files; i++) {
        const dg_record_file *file = f->file + i;
        total[file->part] += wanted(o, file, (int)total[file->part]);
        if (total[file->part] > DG_FILES_MAX)
            return dg_record_file_wrong(o, file, dg_fail(DG_DATA, "more than %d pictures", DG_FILES_MAX));
    }
    return DG_OK;
}

dg_err dg_records_into(const dg_dataset_options *o, const dg_record_files *f, const int *label_of, dg_dataset *d)
{
    static const char *const name[DG_PARTS] = {"train", "test"};
    long total[DG_PARTS] = {0};
    dg_err e = count_all(o, f, total);
    const int parts = dg_test_wanted(o) ? DG_PARTS : DG_PART_TEST;
    const long all = total[DG_PART_TRAIN] + (parts == DG_PARTS ? total[DG_PART_TEST] : 0);
    if (!e) e = dg_dataset_pixels(o, all, &d->pixels);
    if (!e) e = dg_dataset_lists(d, all);
    if (!e && d->classes && !(d->label = malloc(sizeof *d->label * ((size_t)all + 1))))
        e = dg_fail(DG_DEVICE, "no memory for the labels");
    for (int part = 0; part < parts && !e; part++) {
        int number = 0;
        if (o->progress && all) o->progress(o->context, d->count, all);
        for (int i = 0; i < f->files && !e; i++) {
            dg_records r = f->file[i].records;
            if ((int)f->file[i].part != part || !(r.count = wanted(o, f->file + i, number))) continue;
            e = dg_records_take(o, &r, name[part], number, label_of, d);
            number += r.count;
        }
        if (!part) d->train = d->count;
    }
    d->usable = d->count;
    if (!o->test && parts < DG_PARTS) d->aside = (int)total[DG_PART_TEST];
    if (o->progress && all && !e) o->progress(o->context, all, all);
    return e;
}
