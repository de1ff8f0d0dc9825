/* Makes folders of images, loads them and checks the datasets. */
#pragma once

#include "host/data/dataset.h"
#include "make_image.h"
#include "tempdir.h"
#include "test.h"

#include <errno.h>

static char root[600], skipped[600], cache[600];

__attribute__((unused)) static char *at(const char *name)
{
    static char path[8][8192];
    static int turn;
    char *p = path[turn = (turn + 1) % 8];
    snprintf(p, 8192, "%s/%s", root, name);
    return p;
}

/* Makes an empty folder: temp_dir or a subdirectory. The cache and the list of skipped files are in temp_dir. */
__attribute__((unused)) static void begin_at(const char *name)
{
    temp_make("dataset");
    snprintf(root, sizeof root, "%s", *name ? temp_path(name) : temp_dir);
    snprintf(skipped, sizeof skipped, "%s", temp_path("skipped.txt"));
    snprintf(cache, sizeof cache, "%s", temp_path("cache"));
    mkdir(root, 0777);
}
__attribute__((unused)) static void begin(void) { begin_at(""); }
__attribute__((unused)) static void end(void) { temp_remove(temp_dir); }

__attribute__((unused)) static void save(const char *name, blob b)
{
    DG_CHECKF(!blob_save(&b, at(name)), "%s: %s", name, strerror(errno));
    blob_free(&b);
}

__attribute__((unused)) static void save_text(const char *name, const char *text)
{
    save(name, blob_of(text, strlen(text)));
}

__attribute__((unused)) static dg_dataset_options options(void)
{
    return (dg_dataset_options){.dir = root, .size = dg_square(8), .channels = 3, .decode.exif = true, .threads = 2};
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

#define LOADS(o, d, ...)                           \
    do {                                           \
        if (loads(o, &(d))) DG_CHECK(__VA_ARGS__); \
        dg_dataset_free(&(d));                     \
    } while (0)

__attribute__((unused)) static void fails(const dg_dataset_options *o, dg_err code, const char *why)
{
    dg_dataset d;
    dg_err e = dg_dataset_load(o, &d);
    DG_CHECKF(e == code && strstr(dg_message(), why), "\"%s\" expected, got %d \"%s\"", why, (int)e,
              e ? dg_message() : "");
    DG_CHECK(!e || (!d.pixels && !d.count && !d.skips));
    dg_dataset_free(&d);
}
