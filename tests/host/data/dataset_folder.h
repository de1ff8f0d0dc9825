/* A folder of images to load, for the tests of data sets. */
#ifndef DATASET_FOLDER_H
#define DATASET_FOLDER_H

#include "host/data/dataset.h"
#include "make_image.h"
#include "temp_folder.h"
#include "test.h"

#include <errno.h>

static char root[256], skipped[300], cache[300];

__attribute__((unused)) static char *at(const char *name)
{
    static char path[8][8192];
    static int turn;
    char *p = path[turn = (turn + 1) % 8];
    snprintf(p, 8192, "%s/%s", root, name);
    return p;
}

__attribute__((unused)) static void begin(void)
{
    temp_make(root);
    snprintf(skipped, sizeof skipped, "%s/skipped.txt", root);
    snprintf(cache, sizeof cache, "%s/cache", root);
}

__attribute__((unused)) static void end(void) { temp_remove(root); }

__attribute__((unused)) static void save(const char *name, blob b)
{
    DG_CHECKF(!blob_save(&b, at(name)), "%s: %s", name, strerror(errno));
    blob_free(&b);
}

__attribute__((unused)) static void save_text(const char *name, const char *text)
{
    blob b = {0};
    blob_put(&b, text, strlen(text));
    save(name, b);
}

__attribute__((unused)) static dg_dataset_options options(void)
{
    return (dg_dataset_options){.dir = root, .size = 8, .channels = 3, .decode.exif = true, .threads = 2};
}

__attribute__((unused)) static const char *reason_of(const dg_dataset *d, const char *name)
{
    for (int i = 0; i < d->skips; i++)
        if (!strcmp(d->skip[i].name, name)) return d->skip[i].reason;
    return "";
}

__attribute__((unused)) static int bad_count(const dg_dataset *d)
{
    int n = 0;
    for (int i = 0; i < d->skips; i++) n += d->skip[i].bad;
    return n;
}

__attribute__((unused)) static int loads(const dg_dataset_options *o, dg_dataset *d)
{
    dg_err e = dg_dataset_load(o, d);
    return DG_CHECKF(!e, "%d %s", (int)e, dg_message());
}

__attribute__((unused)) static void fails(const dg_dataset_options *o, dg_err code, const char *why)
{
    dg_dataset d;
    dg_err e = dg_dataset_load(o, &d);
    DG_CHECKF(e == code && strstr(dg_message(), why), "\"%s\" expected, got %d \"%s\"", why, (int)e,
              e ? dg_message() : "");
    DG_CHECK(!e || (!d.pixels && !d.count && !d.skips));
    dg_dataset_free(&d);
}

#endif
