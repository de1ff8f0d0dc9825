/* Tests a cache of more images than memory may hold: a sparse file of black images. With the arguments FOLDER CACHE N
 * SIZE, only makes an empty file for each of N images and their cache, for tests/cli/large_cache.sh. */
#include "host/cli/commands.h"
#include "cache_head.h"
#include "command_line.h"
#include "tempdir.h"
#include "test.h"

#include <stdlib.h>
#include <zlib.h>

#include "core/base/clock.h"
#include "host/data/dataset_internal.h"

static void make_files(const char *folder, int n)
{
    char name[64];
    DG_CHECKF(!mkdir(folder, 0777), "%s", folder);
    const int dir = open(folder, O_RDONLY | O_DIRECTORY);
    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof name, "%07d.png", i);
        const int fd = openat(dir, name, O_WRONLY | O_CREAT, 0666);
        if (fd < 0 || close(fd)) DG_CHECKF(false, "%s: cannot be created", name);
    }
    close(dir);
}

static void make_cache(const dg_dataset_options *o, int n)
{
    dg_folder folder;
    dg_scan scan;
    const size_t images = (size_t)n, bytes = dg_size_values(o->size, o->channels);
    uint8_t *black = calloc(bytes, 1), did = 0;
    DG_WORKS(dg_open_folder(o->dir, &folder));
    DG_WORKS(dg_scan_folder(&folder, o->dir, (const char *const[]){o->cache}, 1, &scan));
    DG_CHECK(scan.files == n);
    const uint64_t hash = dg_image_note(black, bytes, o->channels, &did);
    const uint32_t sum = (uint32_t)crc32(0, black, (uInt)bytes);
    uint8_t *lists = calloc(images, CACHE_ARRAYS + 12), *at = lists;
    for (int i = 0; i < n; i++) memcpy(at, &hash, 8), at += 8;
    for (int i = 0; i < 2 * n; i++) memcpy(at, &o->size.W, 4), at += 4;
    for (int i = 0; i < n; i++) memcpy(at, &i, 4), at += 4;
    for (int i = 0; i < n; i++) memcpy(at, &sum, 4), at += 4;
    memset(at, DG_KIND_PNG_RGB, images);
    memset(at + images, did, images);
    at += 2 * images;
    for (int i = 0; i < n; i++) at = (uint8_t *)stpcpy((char *)at, scan.file[i].name) + 1;
    uint64_t *each = malloc(images * sizeof *each);
    memcpy(each, lists, images * sizeof *each);
    const dg_dataset d = {.count = n, .size = o->size, .channels = o->channels, .hash = each};
    cache_head h = {.magic = "dcgan-cache-2\n",
                    .order = 0x01020304,
                    .key = dg_cache_key(o, &scan, true),
                    .lists = (uint64_t)(at - lists),
                    .fingerprint = dg_dataset_fingerprint(&d, 1),
                    .count = n,
                    .size = o->size.W,
                    .channels = o->channels,
                    .files = dg_cache_key(o, &scan, false),
                    .slots = n};
    uint8_t first[CACHE_HEADER] = {0};
    memcpy(first, &h, sizeof h);
    h.crc = (uint32_t)crc32_z(crc32(0, first, sizeof first), lists, (z_size_t)h.lists);
    memcpy(first, &h, sizeof h);
    const int fd = open(o->cache, O_WRONLY | O_CREAT | O_EXCL, 0666);
    const off_t end = (off_t)(sizeof first + images * bytes);
    DG_CHECK(pwrite(fd, first, sizeof first, 0) == (ssize_t)sizeof first &&
             pwrite(fd, lists, (size_t)h.lists, end) == (ssize_t)h.lists && !close(fd));
    dg_scan_free(&scan);
    dg_close_folder(&folder);
    free(each);
    free(lists);
    free(black);
}

/* Makes images and cache for the options of `dcgan --data FOLDER --cache CACHE --size SIZE`. */
static dg_dataset_options make(const char *folder, const char *cache, int n, int size)
{
    static dg_options o;
    char line[4096];
    snprintf(line, sizeof line, "--data %s --cache %s --size %d", folder, cache, size);
    DG_WORKS(parse_line(line, &o));
    dg_dataset_options d = dg_all_images(&o, o.data, dg_square(size), 3);
    d.cache = o.cache;
    d.may_stay = true;
    make_files(folder, n);
    make_cache(&d, n);
    return d;
}

static void add_bytes(void *context, int thread, int i, const uint8_t *pixels)
{
    (void)thread, (void)i;
    if (pixels[77]) *(bool *)context = false;
}

int main(int argc, char **argv)
{
    if (argc == 5) {
        make(argv[1], argv[2], atoi(argv[3]), atoi(argv[4]));
        return dg_test_report();
    }
    enum { N = 30011, SIZE = 128 }; /* 1.5 GB */
    temp_make("large");
    char folder[600], cache[600];
    snprintf(folder, sizeof folder, "%s", temp_path("images"));
    snprintf(cache, sizeof cache, "%s", temp_path("cache"));
    dg_dataset_options o = make(folder, cache, N, SIZE);
    dg_dataset d;
    bool black = true;
    o.most_mb = 100;
    o.threads = 2;
    const double began = dg_clock();
    DG_WORKS(dg_dataset_load(&o, &d));
    const double took = dg_clock() - began;
    DG_CHECKF(d.count == N && d.cached && !d.pixels && took < 10, "%d images after %.1f s", d.count, took);
    const dg_images images = dg_dataset_images(&d);
    DG_WORKS(dg_images_each(&images, 1000, 2, add_bytes, &black));
    DG_CHECK(black);
    dg_dataset_free(&d);
    temp_remove(temp_dir);
    return dg_test_report();
}
