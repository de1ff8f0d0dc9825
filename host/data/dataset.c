/* Functions for a dataset in memory: its arrays, skipped files and classes. */
#include "core/base/limits.h"
#include "host/data/dataset_internal.h"
#include "host/data/dataset.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <string.h>

int dg_dataset_threads(const dg_dataset_options *o) { return o->threads > 0 ? o->threads : omp_get_max_threads(); }

dg_err dg_dataset_pixels(const dg_dataset_options *o, long images, uint8_t **out)
{
    double need = (double)images * o->size * o->size * o->channels;
    dg_memory_limit l;
    dg_memory_limit_read(&l);
    if (need > 0.9 * (double)l.left) {
        char left[64] = ""; /* what the machine's other programs use is not counted */
        if (l.left < l.all) snprintf(left, sizeof left, ", of which %.1f MB are left", (double)l.left / 1e6);
        return dg_fail(DG_DEVICE,
                       "%s: %ld images of %d x %d x %d need %.1f MB of memory, but %s allows %.1f MB%s; use {limit} or "
                       "a smaller model",
                       o->dir, images, o->size, o->size, o->channels, need / 1e6, l.name, (double)l.all / 1e6, left);
    }
    *out = malloc(images ? (size_t)need : 1);
    if (!*out)
        return dg_fail(DG_DEVICE, "%s: no memory for %ld images of %d x %d x %d (%.1f MiB)", o->dir, images, o->size,
                       o->size, o->channels, need / 0x1p20);
    return DG_OK;
}

dg_err dg_dataset_lists(dg_dataset *out, long images)
{
    size_t n = images ? (size_t)images : 1;
    out->name = calloc(n, sizeof *out->name);
    out->width = calloc(n, sizeof *out->width);
    out->height = calloc(n, sizeof *out->height);
    out->kind = calloc(n, 1);
    out->did = calloc(n, 1);
    if (!out->name || !out->width || !out->height || !out->kind || !out->did)
        return dg_fail(DG_DEVICE, "no memory for the list of images");
    return DG_OK;
}

bool dg_dataset_unread(const dg_dataset *d)
{
    bool found = false;
    for (int i = 0; i < d->skips; i++) found |= d->skip[i].unread;
    return found;
}

bool dg_dataset_lists_skips(const dg_dataset_options *o, const dg_dataset *d)
{
    return o->skipped && (!o->known || o->known == d->fingerprint || dg_dataset_unread(d));
}

bool dg_dataset_listed(const dg_dataset_options *o, const dg_dataset *d)
{
    return d->skips && dg_dataset_lists_skips(o, d);
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
    return d->unclassified ? d->unclassified : "the images are not in one folder per class";
}

dg_err dg_dataset_check_classes(const dg_dataset *d, const char *dir, const char *model, int classes)
{
    if (!d->classes)
        return dg_fail(DG_DATA, DG_MSG("no-classes", "%s: has no classes, but model %s is a classifier: %s"), dir,
                       model, dg_dataset_unclassified(d));
    if (d->classes == classes) return DG_OK;
    if (d->classes < 2)
        return dg_fail(DG_DATA,
                       "%s: has only 1 class, %s; a classifier needs two or more classes, one folder per class", dir,
                       d->class_name[0]);
    return dg_fail(DG_DATA,
                   DG_MSG("class-count", "%s: has %d classes, %s to %s; model %s has %d; in the model file, set "
                                         "filters of the last layer (and classes in [model], if given) to %d"),
                   dir, d->classes, d->class_name[0], d->class_name[d->classes - 1], model, classes, d->classes);
}

const char *dg_dataset_other_class(const dg_dataset *d, const char *names, int *which)
{
    for (*which = 0; *which < d->classes; ++*which) {
        const char *name = d->class_name[*which];
        const size_t n = strcspn(names, "\n");
        bool same = strlen(name) == n;
        for (size_t k = 0; k < n && same; k++) same = names[k] == (name[k] == '\n' ? ' ' : name[k]);
        if (!same) return names;
        names += n + (names[n] != 0);
    }
    return NULL;
}

void dg_dataset_statistics(const dg_dataset *d, double mean[4], double std[4])
{
    const size_t pixels = (size_t)d->train * (size_t)d->size * (size_t)d->size, C = (size_t)d->channels;
    for (size_t c = 0; c < C; c++) {
        uint64_t sum = 0, squares = 0; /* these 64-bit sums are exact for up to 2^48 pixels */
        for (size_t i = 0; i < pixels; i++) {
            const uint64_t v = d->pixels[i * C + c];
            sum += v;
            squares += v * v;
        }
        const double n = (double)pixels, m = (double)sum / n, variance = (double)squares / n - m * m;
        mean[c] = m / 255;
        std[c] = variance > 1 ? sqrt(variance) / 255 : 1.0 / 255;
    }
}

uint64_t dg_hash(uint64_t h, const void *data, size_t bytes)
{
    const uint8_t *p = data;
    /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): false positive in a parallel loop */
    for (size_t i = 0; i < bytes; i++) h = (h ^ p[i]) * 0x100000001b3u;
    return h;
}

uint64_t dg_dataset_fingerprint(const dg_dataset *d, int threads)
{
    size_t bytes = (size_t)d->size * (size_t)d->size * (size_t)d->channels;
    uint64_t *each = malloc(d->count ? (size_t)d->count * sizeof *each : 1), h = DG_HASH;
    int shape[3] = {d->count, d->size, d->channels};
    h = dg_hash(h, shape, sizeof shape);
    if (each) {
#pragma omp parallel for num_threads(threads > 0 ? threads : omp_get_max_threads())
        for (int i = 0; i < d->count; i++) each[i] = dg_hash(DG_HASH, d->pixels + (size_t)i * bytes, bytes);
        h = dg_hash(h, each, (size_t)d->count * sizeof *each);
    } else {
        for (int i = 0; i < d->count; i++) {
            uint64_t one = dg_hash(DG_HASH, d->pixels + (size_t)i * bytes, bytes);
            h = dg_hash(h, &one, sizeof one);
        }
    }
    free(each);
    return h;
}
