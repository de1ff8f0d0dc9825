/* Functions for a dataset in memory: its arrays, skipped files and classes. */
#include "core/base/limits.h"
#include "host/data/dataset_internal.h"
#include "host/data/dataset.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

int dg_dataset_threads(const dg_dataset_options *o) { return o->threads > 0 ? o->threads : omp_get_max_threads(); }

static double bytes_of(const dg_dataset_options *o, long images)
{
    return (double)images * o->size.W * o->size.H * o->channels;
}

bool dg_dataset_stays(const dg_dataset_options *o, long images)
{
    if (!o->may_stay || o->other_file) return o->may_stay;
    return bytes_of(o, images) > (o->most_mb > 0 ? o->most_mb * 1e6 : 0.5 * (double)dg_memory_free());
}

dg_err dg_dataset_pixels(const dg_dataset_options *o, long images, uint8_t **out)
{
    const double need = bytes_of(o, images);
    dg_memory_limit l;
    dg_memory_limit_read(&l);
    if (need > 0.9 * (double)l.left) {
        char left[64] = ""; /* what the machine's other programs use is not counted */
        if (l.left < l.all) snprintf(left, sizeof left, ", of which %.1f MB are left", (double)l.left / 1e6);
        return dg_fail(DG_DEVICE,
                       "%s: %ld images of %d x %d x %d need %.1f MB of memory, but %s allows %.1f MB%s; use {limit} or "
                       "a smaller model",
                       o->dir, images, o->size.W, o->size.H, o->channels, need / 1e6, l.name, (double)l.all / 1e6,
                       left);
    }
    *out = malloc(images ? (size_t)need : 1);
    if (!*out)
        return dg_fail(DG_DEVICE, "%s: no memory for %ld images of %d x %d x %d (%.1f MiB)", o->dir, images, o->size.W,
                       o->size.H, o->channels, need / 0x1p20);
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
    free(d->slot);
    free(d->hash);
    dg_image_file_close(d->file);
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

dg_images dg_dataset_images(const dg_dataset *d)
{
    dg_images p = dg_images_of(d->pixels, d->count, dg_size_values(d->size, d->channels));
    p.file = d->file;
    p.slot = d->slot;
    p.name = d->name;
    return p;
}

char *dg_dataset_shared_path(const dg_dataset *d, char *out, size_t size)
{
    *out = 0;
#ifdef __linux__
    if (d->file) snprintf(out, size, "/proc/%ld/fd/%d", (long)getpid(), dg_image_file_fd(d->file));
#endif
    return out;
}

typedef struct {
    const dg_dataset *d;
    struct {
        uint64_t value[4], square[4];
    } * sum; /* of each thread; these 64-bit sums are exact for up to 2^48 pixels */
} moments;

static void add_moments(void *context, int thread, int i, const uint8_t *pixels)
{
    const moments *m = context;
    const size_t n = dg_size_pixels(m->d->size), C = (size_t)m->d->channels;
    (void)i;
    for (size_t c = 0; c < C; c++) {
        uint64_t sum = 0, squares = 0;
        for (size_t k = 0; k < n; k++) {
            const uint64_t v = pixels[k * C + c];
            sum += v;
            squares += v * v;
        }
        m->sum[thread].value[c] += sum;
        m->sum[thread].square[c] += squares;
    }
}

dg_err dg_dataset_statistics(const dg_dataset *d, int threads, double mean[4], double std[4])
{
    const int most = threads > 0 ? threads : omp_get_max_threads();
    const dg_images images = dg_dataset_images(d);
    moments m = {.d = d, .sum = calloc((size_t)most, sizeof *m.sum)};
    if (!m.sum) return dg_fail(DG_DEVICE, "out of memory for the mean of the images");
    const dg_err e = dg_images_each(&images, d->train, most, add_moments, &m);
    for (int c = 0; c < d->channels && !e; c++) {
        uint64_t sum = 0, squares = 0;
        for (int t = 0; t < most; t++) sum += m.sum[t].value[c], squares += m.sum[t].square[c];
        const double n = (double)d->train * d->size.W * d->size.H, x = (double)sum / n,
                     variance = (double)squares / n - x * x;
        mean[c] = x / 255;
        std[c] = variance > 1 ? sqrt(variance) / 255 : 1.0 / 255;
    }
    free(m.sum);
    return e;
}

uint64_t dg_hash(uint64_t h, const void *data, size_t bytes)
{
    const uint8_t *p = data;
    /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): false positive in a parallel loop */
    for (size_t i = 0; i < bytes; i++) h = (h ^ p[i]) * 0x100000001b3u;
    return h;
}

uint64_t dg_image_note(const uint8_t *pixels, size_t bytes, int channels, uint8_t *did)
{
    const uint8_t *p = pixels, *end = p + bytes;
    while (channels == 3 && p < end && p[0] == p[1] && p[1] == p[2]) p += 3;
    if (p == end) *did |= DG_GREY;
    return dg_hash(DG_HASH, pixels, bytes);
}

dg_err dg_dataset_note(dg_dataset *d, int threads)
{
    const size_t bytes = dg_size_values(d->size, d->channels);
    if (d->hash || !d->count) return DG_OK;
    d->hash = malloc((size_t)d->count * sizeof *d->hash);
    if (!d->hash) return dg_fail(DG_DEVICE, "no memory for the list of images");
#pragma omp parallel for num_threads(threads > 0 ? threads : omp_get_max_threads())
    for (int i = 0; i < d->count; i++)
        d->hash[i] = dg_image_note(d->pixels + (size_t)i * bytes, bytes, d->channels, d->did + i);
    return DG_OK;
}

uint64_t dg_dataset_fingerprint(const dg_dataset *d, int threads)
{
    const size_t bytes = dg_size_values(d->size, d->channels);
    uint64_t *each = d->hash ? d->hash : malloc(((size_t)d->count + 1) * sizeof *each), h = DG_HASH;
    const int shape[3] = {d->count, d->size.W, d->channels};
    h = dg_hash(h, shape, sizeof shape);
    if (!dg_is_square(d->size)) h = dg_hash(h, &d->size.H, sizeof d->size.H);
    if (each && !d->hash) {
#pragma omp parallel for num_threads(threads > 0 ? threads : omp_get_max_threads())
        for (int i = 0; i < d->count; i++) each[i] = dg_hash(DG_HASH, d->pixels + (size_t)i * bytes, bytes);
    }
    for (int i = 0; i < d->count; i++) {
        const uint64_t one = each ? each[i] : dg_hash(DG_HASH, d->pixels + (size_t)i * bytes, bytes);
        h = dg_hash(h, &one, sizeof one);
    }
    if (!d->hash) free(each);
    return h;
}
