/* Writes the images of a dataset as PNG files. */
#include "core/base/team.h"
#include "host/data/dirs.h"
#include "host/data/dataset_internal.h"
#include "host/files/made.h"
#include "host/files/replace.h"
#include "host/image/encode.h"

#include <errno.h>
#include <inttypes.h>
#include <omp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const dg_dataset *d;
    const char *to;
    void (*progress)(void *context, long done, long total);
    void *context;
    atomic_int written;
    char source[64]; /* PNG text that identifies the dataset */
    char **folder;   /* of each class, or NULL without classes */
} job;

/* Returns the absolute path of the deepest existing folder of a path, or NULL. */
static char *existing(const char *to)
{
    char *path = strdup(to), *end = path ? path + strlen(path) : NULL, *real = NULL;
    while (path && !(real = realpath(path, NULL)) && errno == ENOENT && end > path) {
        while (end > path && *--end != '/') {}
        if (end > path) *end = 0;
        else snprintf(path, 2, "%s", *to == '/' ? "/" : ".");
    }
    free(path);
    return real;
}

static dg_err check_place(const char *from, const char *to)
{
    if (!dg_is_folder(from)) return DG_OK;
    char *top = realpath(from, NULL), *real = top ? existing(to) : NULL;
    const size_t n = top ? strlen(top) : 0;
    const bool known = real != NULL, inside = known && !strncmp(real, top, n) && (!real[n] || real[n] == '/' || n == 1);
    free(top);
    free(real);
    if (!known) return dg_fail(errno == ENOMEM ? DG_DEVICE : DG_IO, "%s: cannot be accessed: %s", to, strerror(errno));
    if (!inside) return DG_OK;
    return dg_fail(DG_USAGE,
                   DG_MSG("write-into-dataset",
                          "{write} %s: is inside of %s, so that the images would become a part of the dataset; choose "
                          "another folder"),
                   to, from);
}

static dg_err check_file(const job *w, const dg_folder *folder, const char *name, dg_lost *lost)
{
    uint8_t head[DG_HEAD_BYTES];
    size_t bytes;
    const dg_err e = dg_file_head(folder, name, lost, head, sizeof head, &bytes);
    if (e == DG_DEVICE) return e;
    return !e && dg_png_says(head, bytes, "Source", w->source) ? DG_OK : dg_refuse_other(w->to, name);
}

/* Returns DG_USAGE if the output directory has other files than images of this dataset. */
static dg_err check_output(const job *w)
{
    dg_folder folder = {.fd = -1};
    dg_scan s;
    dg_lost lost;
    atomic_init(&lost, 0);
    if (dg_replaces_all() || !dg_is_folder(w->to)) return DG_OK;
    dg_err e = dg_open_folder(w->to, &folder);
    if (e) return e;
    e = dg_scan_folder(&folder, w->to, NULL, 0, &s);
    if (!e) {
        if (s.skips) e = dg_refuse_other(w->to, s.skip[0].name);
        for (long i = 0; i < s.files && !e; i++) e = check_file(w, &folder, s.file[i].name, &lost);
        dg_scan_free(&s);
    }
    dg_close_folder(&folder);
    return e;
}

dg_err dg_class_folders(const char *const *class_name, int classes, const char *to, char ***folder)
{
    char shown[2][300], **all = *folder = calloc((size_t)classes, sizeof **folder);
    for (int i = 0; i < classes; i++) {
        char *name = all ? all[i] = strdup(*class_name[i] ? class_name[i] : "_") : NULL;
        if (!name) return dg_fail(DG_DEVICE, "no memory for the classes");
        if (*name == '.') *name = '_';
        for (char *s = name; (s = strchr(s, '/'));) *s = '_';
        for (int k = 0; k < i; k++)
            if (!strcmp(all[k], name))
                return dg_fail(DG_DATA,
                               DG_MSG("one-folder-of-two-classes",
                                      "%s: the classes %s and %s would get the same folder; rename one of them"),
                               to, dg_printable(shown[0], sizeof shown[0], class_name[k]),
                               dg_printable(shown[1], sizeof shown[1], class_name[i]));
    }
    return DG_OK;
}

void dg_class_folders_free(char **folder, int classes)
{
    for (int i = 0; folder && i < classes; i++) free(folder[i]);
    free(folder);
}

static dg_err name_folder(const job *w, bool test, int class, char path[DG_PATH_BYTES])
{
    const dg_dataset *d = w->d;
    const char *part = d->train == d->count ? ""
                       : test               ? "/test"
                                            : "/train",
               *name = class < 0 || !w->folder ? NULL : w->folder[class];
    const int n = snprintf(path, DG_PATH_BYTES, "%s%s%s%s", w->to, part, name ? "/" : "", name ? name : "");
    return n < DG_PATH_BYTES - 32 ? DG_OK : dg_fail(DG_USAGE, "%s: the path is too long", w->to);
}

static dg_err make_folders(const job *w)
{
    char path[DG_PATH_BYTES];
    dg_err e = dg_make_directories(w->to, NULL);
    for (int test = 0; test < 2; test++)
        for (int class = w->folder ? 0 : -1; class < w->d->classes && !e; class ++) {
            if (test && w->d->train == w->d->count) return e;
            e = name_folder(w, test, class, path);
            if (!e) e = dg_make_directories(path, NULL);
        }
    return e;
}

/* An existing file of the same bytes stays. */
static dg_err put(const char *path, const void *data, size_t bytes)
{
    void *old;
    size_t n;
    bool same = false;
    if (!dg_read_file(path, bytes + 1, &old, &n)) {
        same = n == bytes && !memcmp(old, data, n);
        free(old);
    }
    return same ? DG_OK : dg_write_atomic(path, &(dg_chunk){data, bytes}, 1);
}

static dg_err write_one(void *context, int i)
{
    job *w = context;
    const dg_dataset *d = w->d;
    const dg_images images = dg_dataset_images(d);
    const dg_image im = {d->size.W, d->size.H, d->channels, malloc(images.bytes)};
    char path[DG_PATH_BYTES];
    void *data;
    size_t bytes;
    dg_err e = im.pixels ? dg_images_read(&images, i, im.pixels) : dg_fail(DG_DEVICE, "no memory for an image");
    if (!e) e = name_folder(w, i >= d->train, d->label ? d->label[i] : -1, path);
    if (!e) e = dg_png_encode(&im, &(dg_text){"Source", w->source}, 1, &data, &bytes);
    free(im.pixels);
    if (e) return e;
    snprintf(path + strlen(path), 32, "/image-%07d.png", i);
    e = put(path, data, bytes);
    free(data);
    const int n = atomic_fetch_add(&w->written, 1) + 1;
    if (!e && w->progress && omp_get_thread_num() == 0) w->progress(w->context, n, d->count);
    return e;
}

dg_err dg_dataset_write(const dg_dataset *d, const char *from, const char *to, int threads,
                        void (*progress)(void *context, long done, long total), void *context)
{
    job w = {.d = d, .to = to, .progress = progress, .context = context};
    dg_dirs dirs;
    dg_err e = DG_OK;
    dg_dirs_split(from, &dirs);
    for (int i = 0; i < dirs.n && !e; i++) e = check_place(dirs.dir[i], to);
    if (!e && d->classes) e = dg_class_folders((const char *const *)d->class_name, d->classes, to, &w.folder);
    snprintf(w.source, sizeof w.source, "converted by dcgan, dataset %016" PRIx64,
             dg_hash_labels(dg_dataset_fingerprint(d, threads), d));
    if (!e) e = check_output(&w);
    if (!e) e = make_folders(&w);
    if (!e) e = dg_team_each(d->count, write_one, &w);
    if (!e && progress) progress(context, d->count, d->count);
    dg_class_folders_free(w.folder, d->classes);
    return e;
}
