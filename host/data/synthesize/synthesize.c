#include "host/data/synthesize/synthesize.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "core/base/file_io.h"
#include "core/base/team.h"
#include "host/data/synthesize/cat.h"
#include "host/files/made.h"
#include "host/files/replace.h"
#include "host/image/encode.h"

void dg_synthesize_one(uint8_t *pixels, dg_size size, uint64_t seed, int i)
{
    dg_cat cat;
    dg_cat_choose(&cat, seed, i);
    dg_cat_draw(pixels, size, &cat);
}

#define DRAWN "drawn by dcgan"

typedef struct {
    const char *dir;
    dg_size size;
    int classes;
    uint64_t seed;
    enum { CHECK, WRITE } what;
} drawing;

static dg_err encode(const drawing *w, int i, void **data, size_t *bytes)
{
    const dg_size size = w->size;
    dg_image im = {size.W, size.H, 3, malloc(dg_size_values(size, 3))};
    if (!im.pixels) return dg_fail(DG_DEVICE, "image %d: out of memory", i);
    if (w->classes) dg_shape_draw(im.pixels, size, w->seed, i % w->classes, i / w->classes);
    else dg_synthesize_one(im.pixels, size, w->seed, i);
    char source[100];
    snprintf(source, sizeof source, DRAWN ", seed %llu, number %d", (unsigned long long)w->seed, i);
    dg_err e = dg_png_encode(&im, &(dg_text){"Source", source}, 1, data, bytes);
    free(im.pixels);
    return e;
}

/* Returns DG_OK if the file at path has these bytes. If dg_replaces_all() is true, replaces the file instead. */
static dg_err check_same(const char *path, const void *data, size_t bytes)
{
    if (dg_replaces_all()) return dg_write_atomic(path, &(dg_chunk){data, bytes}, 1);
    void *old;
    size_t old_bytes;
    if (dg_read_file(path, bytes + 1, &old, &old_bytes) == DG_OK) {
        bool same = old_bytes == bytes && memcmp(old, data, bytes) == 0;
        free(old);
        if (same) return DG_OK;
    }
    return dg_fail(DG_USAGE,
                   DG_MSG("image-in-the-way",
                          "%s: exists and is another image; choose an empty or a new folder, or add {force}"),
                   path);
}

static void path_of(const drawing *w, int i, char path[4096])
{
    const char *name = w->classes ? dg_shape_name[i % w->classes] : NULL;
    if (name) snprintf(path, 4096, "%s/%s/%s-%05d.png", w->dir, name, name, i / w->classes);
    else snprintf(path, 4096, "%s/cat-%05d.png", w->dir, i);
}

static dg_err one(void *context, int i)
{
    const drawing *w = context;
    char path[4096];
    path_of(w, i, path);
    struct stat st;
    bool there = lstat(path, &st) == 0;
    if (there != (w->what == CHECK)) return DG_OK;
    void *data;
    size_t bytes;
    dg_err e = encode(w, i, &data, &bytes);
    if (e) return e;
    e = w->what == CHECK ? check_same(path, data, bytes) : dg_write_atomic(path, &(dg_chunk){data, bytes}, 1);
    free(data);
    return e;
}

/* Returns DG_USAGE unless the output folder has only subfolders of w's classes, with images drawn by dcgan. */
static dg_err check_classes(const drawing *w)
{
    dg_err e = DG_OK;
    char path[4096], name[64];
    int theirs = 0;
    for (int i = 0; i < DG_SHAPES && !e; i++) {
        snprintf(path, sizeof path, "%s/%s", w->dir, dg_shape_name[i]);
        snprintf(name, sizeof name, "%s-*.png", dg_shape_name[i]);
        theirs += i < w->classes && dg_is_folder(path);
        if (i < w->classes) e = dg_only_ours(path, (const char *const[]){name, NULL}, "Source", DRAWN);
    }
    DIR *d = e ? NULL : opendir(w->dir);
    for (const struct dirent *entry; d && (errno = 0, entry = readdir(d));) theirs -= entry->d_name[0] != '.';
    if (d && errno) e = dg_fail(DG_IO, "%s: cannot be listed: %s", w->dir, strerror(errno));
    if (d) closedir(d);
    if (d && !e && theirs < 0)
        e = dg_fail(DG_USAGE,
                    DG_MSG("not-drawn-classes",
                           "%s: contains other entries than folders of drawn classes; choose an empty or a new folder"),
                    w->dir);
    return e;
}

static dg_err make_folders(const drawing *w)
{
    dg_err e = dg_make_directories(w->dir, NULL);
    char path[4096];
    for (int i = 0; i < w->classes && !e; i++) {
        snprintf(path, sizeof path, "%s/%s", w->dir, dg_shape_name[i]);
        e = dg_make_directories(path, NULL);
    }
    return e;
}

dg_err dg_synthesize(const char *dir, int count, dg_size size, uint64_t seed, int classes)
{
    drawing w = {dir, size, classes, seed, CHECK};
    if (count < 1 || count > 1000000) return dg_fail(DG_USAGE, "{count} %d: must be from 1 to 1000000", count);
    char text[DG_SIZE_TEXT];
    if (dg_shorter_side(size) < 16 || dg_longer_side(size) > 256)
        return dg_fail(DG_USAGE, "{size} %s: sides must be from 16 to 256", dg_size_text(size, text));
    if (classes < 0 || classes == 1 || classes > DG_SHAPES)
        return dg_fail(DG_USAGE, DG_MSG("drawn-class-count", "{classes} %d: must be from 2 to %d, or 0 for cats"),
                       classes, DG_SHAPES);
    dg_err e = dg_replaces_all() ? DG_OK
               : classes         ? check_classes(&w)
                                 : dg_only_ours(dir, (const char *const[]){"cat-*.png", NULL}, "Source", DRAWN);
    if (!e) e = make_folders(&w);
    /* Check existing images before writing new ones, so that a foreign image leaves the folder unchanged. */
    if (!e) e = dg_team_each(count, one, &w);
    w.what = WRITE;
    if (!e) e = dg_team_each(count, one, &w);
    return e;
}
