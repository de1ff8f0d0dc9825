#include "host/trainer/evaluate.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/build_info.h"
#include "core/base/memory_file.h"
#include "host/figure/confusion.h"
#include "host/files/csv.h"

static void count(dg_evaluation *v, const int32_t *label, const double *p, const double *each)
{
    double loss = 0;
    long right = 0;
    for (int i = 0; i < v->n; i++) {
        const double *of = p + (size_t)i * (size_t)v->classes;
        int top = 0;
        for (int c = 1; c < v->classes; c++)
            if (of[c] > of[top]) top = c;
        v->said[i] = top;
        v->share[i] = of[top];
        v->is[label[i]]++;
        v->right[label[i]] += top == label[i];
        if (v->confusion) v->confusion[(size_t)label[i] * (size_t)v->classes + (size_t)top]++;
        loss += each[i];
        right += top == label[i];
    }
    v->loss = loss / v->n;
    v->accuracy = (double)right / v->n;
}

/* Run plan "test" on n records, from record `first` on. */
static dg_err test(dg_job *job, const dg_training_records *r, int first, int n, size_t classes, double *p, double *each)
{
    const int most = job->o.tested;
    uint8_t *chunk = malloc((size_t)most * r->bytes);
    dg_err e = chunk ? DG_OK : dg_fail(DG_DEVICE, "out of memory for a test of %d images", n);
    for (int i = 0; i < n && !e; i += most) {
        const int here = n - i < most ? n - i : most;
        for (int k = 0; k < here && !e; k++) e = dg_record_read(r, first + i + k, chunk + (size_t)k * r->bytes);
        if (!e) e = dg_job_test(job, chunk, here, p + (size_t)i * classes, each + i, NULL);
    }
    free(chunk);
    return e;
}

dg_err dg_evaluate(dg_job *job, const dg_training_records *r, int first, const int32_t *label, int n,
                   dg_evaluation *out)
{
    const size_t classes = (size_t)dg_job_classes(job), images = (size_t)n;
    *out = (dg_evaluation){.classes = (int)classes, .n = n};
    const bool confused = classes <= DG_CONFUSED_CLASSES;
    out->is = calloc(classes, sizeof *out->is);
    out->right = calloc(classes, sizeof *out->right);
    if (confused) out->confusion = calloc(classes * classes, sizeof *out->confusion);
    out->said = malloc(images * sizeof *out->said);
    out->share = malloc(images * sizeof *out->share);
    double *p = calloc(images * classes, sizeof *p), *each = calloc(images, sizeof *each);
    const bool whole = out->is && out->right && (out->confusion || !confused) && out->said && out->share && p && each;
    dg_err e = whole ? test(job, r, first, n, classes, p, each)
                     : dg_fail(DG_DEVICE, "out of memory for a test of %d images", n);
    if (!e) count(out, label, p, each);
    else dg_evaluation_free(out);
    free(p);
    free(each);
    return e;
}

void dg_evaluation_free(dg_evaluation *v)
{
    free(v->is);
    free(v->right);
    free(v->confusion);
    free(v->said);
    free(v->share);
    *v = (dg_evaluation){0};
}

static void put_csv(FILE *f, const dg_evaluation *v, char *const *name)
{
    const int said = v->confusion ? v->classes : 0;
    fputs("is \\ said", f);
    for (int c = 0; c < said; c++) fputc(',', f), dg_csv_field(f, name[c]);
    fputs(",accuracy\n", f);
    for (int c = 0; c < v->classes; c++) {
        dg_csv_field(f, name[c]);
        for (int k = 0; k < said; k++) fprintf(f, ",%ld", v->confusion[(size_t)c * (size_t)v->classes + (size_t)k]);
        fputc(',', f);
        if (v->is[c]) fprintf(f, "%.4f", (double)v->right[c] / (double)v->is[c]);
        fputc('\n', f);
    }
}

static dg_err write_csv(const dg_evaluation *v, const dg_dataset *d, const dg_rundir *dir)
{
    char path[4096];
    dg_memory_file m;
    const dg_directory at = dg_rundir_at(dir);
    FILE *f = dg_memory_open(&m);
    if (f) put_csv(f, v, d->class_name);
    const dg_err e = dg_memory_close(f, &m) ? dg_write_atomic_in(&at, dg_rundir_file(dir, path, "confusion.csv"),
                                                                 &(dg_chunk){m.text, m.bytes}, 1)
                                            : dg_fail(DG_DEVICE, "confusion.csv: out of memory");
    free(m.text);
    return e;
}

static dg_err write_png(const dg_rundir *dir, const char *name, dg_image *im, uint64_t epoch)
{
    char path[4096], number[24];
    const dg_directory at = dg_rundir_at(dir);
    snprintf(number, sizeof number, "%llu", (unsigned long long)epoch);
    const dg_text words[] = {{"Software", dg_version}, {"Epoch", number}};
    const dg_err e = dg_png_write_in(&at, dg_rundir_file(dir, path, "%s", name), im, words, 2);
    dg_image_free(im);
    return e;
}

enum { WORST = 40 };

static int find_worst(const dg_evaluation *v, const int32_t *label, int out[WORST])
{
    int n = 0;
    for (int i = 0; i < v->n; i++) {
        if (v->said[i] == label[i]) continue;
        if (n == WORST && v->share[i] <= v->share[out[WORST - 1]]) continue;
        int at = n < WORST ? n++ : WORST - 1;
        for (; at > 0 && v->share[out[at - 1]] < v->share[i]; at--) out[at] = out[at - 1];
        out[at] = i;
    }
    return n;
}

static dg_err draw_worst(const dg_evaluation *v, const dg_dataset *d, uint64_t epoch, dg_image *out)
{
    int worst[WORST];
    const int32_t *label = d->label + d->train;
    const int n = find_worst(v, label, worst);
    const dg_images images = dg_dataset_images(d);
    dg_mistake m[WORST];
    char title[160];
    uint8_t *pixels = malloc((size_t)n * images.bytes + 1);
    dg_err e = pixels ? DG_OK : dg_fail(DG_DEVICE, "worst.png: out of memory");
    for (int i = 0; i < n && !e; i++) {
        uint8_t *of = pixels + (size_t)i * images.bytes;
        e = dg_images_read(&images, d->train + worst[i], of);
        m[i] = (dg_mistake){of, d->class_name[label[worst[i]]], d->class_name[v->said[worst[i]]], v->share[worst[i]]};
    }
    snprintf(title, sizeof title, "Most confident mistakes after epoch %llu: class, prediction",
             (unsigned long long)epoch);
    if (!e) e = dg_mistakes_draw(m, n, d->size, d->channels, title, out);
    free(pixels);
    return e;
}

dg_err dg_evaluation_write(const dg_evaluation *v, const dg_dataset *d, const dg_rundir *dir, uint64_t epoch)
{
    char title[160];
    dg_image im;
    snprintf(title, sizeof title, "accuracy %.2f%% on %d test images after epoch %llu", 100 * v->accuracy, v->n,
             (unsigned long long)epoch);
    dg_err e = DG_OK;
    if (v->confusion) {
        e = dg_confusion_draw(v->confusion, v->classes, d->class_name, title, &im);
        if (!e) e = write_png(dir, "confusion.png", &im, epoch);
    }
    if (!e) e = draw_worst(v, d, epoch, &im);
    if (!e) e = write_png(dir, "worst.png", &im, epoch);
    return e ? e : write_csv(v, d, dir); /* after the PNG files, because dg_evaluation_cut reads only their epoch */
}

static uint64_t epoch_of(const dg_rundir *dir, const char *name)
{
    char path[4096];
    dg_text *text = NULL;
    int texts, W, H;
    uint64_t epoch = 0;
    if (!dg_rundir_has(dir, "%s", name) || dg_png_texts(dg_rundir_file(dir, path, "%s", name), &text, &texts, &W, &H))
        return 0;
    for (int i = 0; i < texts; i++)
        if (!strcmp(text[i].key, "Epoch")) epoch = strtoull(text[i].value, NULL, 10);
    free(text);
    return epoch;
}

void dg_evaluation_cut(const dg_rundir *dir, uint64_t epoch)
{
    static const char *const name[] = {"confusion.csv", "worst.png", "confusion.png"};
    if (epoch_of(dir, "confusion.png") <= epoch && epoch_of(dir, "worst.png") <= epoch) return;
    for (size_t i = 0; i < sizeof name / sizeof name[0]; i++)
        if (unlinkat(dir->fd, name[i], 0) && errno != ENOENT)
            dg_warn("%s/%s is of a later epoch, but removing it failed: %s", dir->path, name[i], strerror(errno));
}
