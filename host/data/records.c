/* Copies images from IDX and CIFAR files into the array of a dataset. */
#include "host/data/records.h"
#include "host/data/records_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void unfold(const dg_records *r, int i, dg_image *out)
{
    const uint8_t *from = r->pixels + (size_t)i * r->stride;
    const size_t plane = (size_t)r->width * (size_t)r->height, C = (size_t)out->C;
    const size_t H = (size_t)r->height, W = (size_t)r->width, N = (size_t)r->channels;
    for (size_t c = 0; c < C; c++, from += r->channels == 3 && c < 3 && !r->interleaved ? plane : 0)
        for (size_t p = 0; p < plane; p++) {
            const size_t at = r->turned ? p % W * H + p / W : r->interleaved ? p * N + (c < N ? c : 0) : p;
            out->pixels[C * p + c] = c < 3 ? from[at] : 255;
        }
}

static dg_err take(const dg_dataset_options *o, const dg_records *r, int i, uint8_t *to)
{
    const size_t plane = (size_t)r->width * (size_t)r->height;
    dg_image im = {r->width, r->height, o->channels > r->channels ? o->channels : r->channels, NULL}, fitted;
    im.pixels = malloc(plane * (size_t)im.C);
    if (!im.pixels) return dg_fail(DG_DEVICE, "no memory for an image of %d x %d", im.W, im.H);
    unfold(r, i, &im);
    if (o->channels == 1) dg_image_grey(&im);
    dg_err e = DG_OK;
    if (im.W == o->size.W && im.H == o->size.H) memcpy(to, im.pixels, plane * (size_t)im.C);
    else if (!(e = dg_image_fit(&im, o->size, o->fit, o->resize, &fitted))) {
        memcpy(to, fitted.pixels, dg_size_values(o->size, o->channels));
        dg_image_free(&fitted);
    }
    dg_image_free(&im);
    return e;
}

static dg_err stopped(const dg_dataset_options *o)
{
    if ((o->stop && *o->stop) || (o->cancelled && o->cancelled(o->cancel_arg)))
        return dg_fail(DG_FAILED, "stopped while reading images");
    return DG_OK;
}

static dg_err take_all(const dg_dataset_options *o, const dg_records *r, const int *number, int n, int first,
                       const dg_dataset *out)
{
    const size_t bytes = dg_size_values(o->size, o->channels);
    uint8_t *to = out->pixels + (size_t)out->count * bytes;
    dg_err error = DG_OK;
    char message[DG_MESSAGE_BYTES] = "";
#pragma omp parallel for schedule(static) num_threads(dg_dataset_threads(o))
    for (int i = 0; i < n; i++) {
        dg_err e;
#pragma omp atomic read
        e = error;
        if (e) continue;
        if (i % 64 == 0) e = stopped(o);
        if (!e) e = take(o, r, number[i] - first, to + (size_t)i * bytes);
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

dg_err dg_records_take(const dg_dataset_options *o, const dg_records *r, const char *part, const int *number, int n,
                       int first, const int *label_of, dg_dataset *out)
{
    dg_err e = take_all(o, r, number, n, first, out);
    for (int i = 0; i < n && !e; i++) {
        char name[64];
        const int to = out->count;
        snprintf(name, sizeof name, "%s/%05d", part, number[i]);
        if (!(out->name[to] = strdup(name))) return dg_fail(DG_DEVICE, "no memory for the list of images");
        out->count++;
        out->width[to] = r->width;
        out->height[to] = r->height;
        out->kind[to] = (uint8_t)r->kind;
        if (!out->label) continue;
        const int label = r->label[(size_t)(number[i] - first) * r->label_stride];
        out->label[to] = label_of ? label_of[label] : label;
    }
    return e;
}

dg_err dg_record_file_wrong(const dg_dataset_options *o, const dg_record_file *f, dg_err e)
{
    char name[1024];
    return dg_context(e, "%s/%s", o->dir, dg_printable(name, sizeof name, f->name));
}

dg_err dg_record_file_read(const dg_dataset_options *o, const dg_folder *folder, size_t limit, dg_record_file *f)
{
    dg_lost lost;
    atomic_init(&lost, 0);
    dg_err e = dg_file_whole(folder, f->name, &lost, limit, &f->data, &f->bytes);
    static const char pointer[] = "version https://git-lfs.";
    if (!e && f->bytes >= sizeof pointer - 1 && !memcmp(f->data, pointer, sizeof pointer - 1))
        e = dg_fail(DG_DATA, DG_LFS_POINTER "; fetch the file: git lfs pull");
    return dg_record_file_wrong(o, f, e);
}

bool dg_test_wanted(const dg_dataset_options *o) { return o->labelled && !o->test; }

static bool is_of(const dg_record_file *f, int part) { return !f->labels && (int)f->part == part; }

static dg_err count_part(const dg_dataset_options *o, const dg_record_files *f, int part, int *out)
{
    long n = 0;
    for (int i = 0; i < f->files; i++) {
        if (is_of(f->file + i, part)) n += f->file[i].records.count;
        if (n > DG_FILES_MAX)
            return dg_record_file_wrong(o, f->file + i, dg_fail(DG_DATA, "more than %d images", DG_FILES_MAX));
    }
    *out = (int)n;
    return DG_OK;
}

static dg_err choose_evenly(const dg_dataset_options *o, const dg_record_files *f, int part, int n, const int *label_of,
                            int classes, int *number)
{
    int32_t *label = malloc((size_t)n * sizeof *label);
    uint8_t *mark = calloc((size_t)n, 1);
    int at = 0, taken = 0;
    for (int i = 0; i < f->files && label; i++) {
        const dg_records *r = &f->file[i].records;
        for (int k = 0; k < r->count && is_of(f->file + i, part); k++) {
            const int l = r->label[(size_t)k * r->label_stride];
            label[at++] = label_of ? label_of[l] : l;
        }
    }
    const bool done = label && mark && dg_mark_evenly(label, n, classes, o->limit, mark) >= 0;
    for (int i = 0; i < n && done; i++)
        if (mark[i]) number[taken++] = i;
    free(label);
    free(mark);
    return done ? DG_OK : dg_fail(DG_DEVICE, "out of memory to select some of %d images", n);
}

static dg_err choose(const dg_dataset_options *o, const dg_record_files *f, int part, const int *label_of, int classes,
                     int **number, int *wanted)
{
    int n = 0;
    dg_err e = count_part(o, f, part, &n);
    if (e) return e;
    *wanted = o->limit > 0 && n > o->limit ? o->limit : n;
    if (!(*number = malloc(((size_t)n + 1) * sizeof **number)))
        return dg_fail(DG_DEVICE, "no memory for the list of images");
    for (int i = 0; i < n; i++) (*number)[i] = i;
    return *wanted < n && o->labelled && classes ? choose_evenly(o, f, part, n, label_of, classes, *number) : DG_OK;
}

static dg_err take_part(const dg_dataset_options *o, const dg_record_files *f, int part, const int *number, int wanted,
                        const int *label_of, dg_dataset *d)
{
    static const char *const name[DG_PARTS] = {"train", "test"};
    dg_err e = DG_OK;
    int first = 0, at = 0;
    for (int i = 0; i < f->files && !e; i++) {
        const dg_records *r = &f->file[i].records;
        if (!is_of(f->file + i, part)) continue;
        int n = 0;
        while (at + n < wanted && number[at + n] < first + r->count) n++;
        if (n) e = dg_records_take(o, r, name[part], number + at, n, first, label_of, d);
        first += r->count;
        at += n;
    }
    return e;
}

dg_err dg_records_into(const dg_dataset_options *o, const dg_record_files *f, const int *label_of, dg_dataset *d)
{
    int *number[DG_PARTS] = {NULL}, wanted[DG_PARTS] = {0};
    dg_err e = DG_OK;
    for (int part = 0; part < DG_PARTS && !e; part++)
        e = choose(o, f, part, label_of, d->classes, &number[part], &wanted[part]);
    const int parts = dg_test_wanted(o) ? DG_PARTS : DG_PART_TEST;
    const long all = wanted[DG_PART_TRAIN] + (parts == DG_PARTS ? wanted[DG_PART_TEST] : 0);
    if (!e) e = dg_dataset_pixels(o, all, &d->pixels);
    if (!e) e = dg_dataset_lists(d, all);
    if (!e && d->classes && !(d->label = malloc(sizeof *d->label * ((size_t)all + 1))))
        e = dg_fail(DG_DEVICE, "no memory for the labels");
    for (int part = 0; part < parts && !e; part++) {
        if (o->progress && all) o->progress(o->context, d->count, all);
        e = take_part(o, f, part, number[part], wanted[part], label_of, d);
        if (!part) d->train = d->count;
    }
    for (int part = 0; part < DG_PARTS; part++) free(number[part]);
    d->usable = d->count;
    if (!o->test && parts < DG_PARTS) d->aside = wanted[DG_PART_TEST];
    if (o->progress && all && !e) o->progress(o->context, all, all);
    return e;
}
