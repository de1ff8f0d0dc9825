/* libFuzzer: the cache of decoded images. Writing and reading must not change a cache that is accepted. An input is the
 * header without its unused bytes, followed by images and lists. */
#include "fuzz.h"
#include "cache_head.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "host/data/dataset_internal.h"

enum { SUMS_AT = 20 /* of the checksums in the lists, per image */ };

static uint8_t *whole_file(const uint8_t *data, size_t size, size_t *bytes)
{
    const size_t used = size < sizeof(cache_head) ? size : sizeof(cache_head);
    *bytes = size < sizeof(cache_head) ? size : CACHE_HEADER + size - used;
    uint8_t *file = calloc(*bytes + 1, 1);
    if (!file) abort();
    if (size) memcpy(file, data, used);
    if (size > used) memcpy(file + CACHE_HEADER, data + used, size - used);
    return file;
}

static dg_cache_found read_cache(const char *path, const cache_head *h, bool stays, dg_dataset *d)
{
    const dg_dataset_options o = {.size = dg_square(h->size),
                                  .channels = h->channels,
                                  .threads = 1,
                                  .cache = path,
                                  .may_stay = stays,
                                  .most_mb = 1e-7};
    *d = (dg_dataset){.size = o.size, .channels = o.channels};
    return dg_cache_read(&o, &(dg_cache_keys){h->files, h->key}, d);
}

static void compare(const dg_dataset *a, const dg_dataset *b)
{
    const size_t bytes = (size_t)a->count * dg_size_values(a->size, a->channels);
    FUZZ_HOLDS(a->count == b->count && a->skips == b->skips && a->fingerprint == b->fingerprint);
    FUZZ_HOLDS(!memcmp(a->pixels, b->pixels, bytes) && !memcmp(a->hash, b->hash, (size_t)a->count * sizeof *a->hash));
    for (int i = 0; i < a->count; i++)
        FUZZ_HOLDS(!strcmp(a->name[i], b->name[i]) && a->width[i] == b->width[i] && a->kind[i] == b->kind[i]);
    for (int i = 0; i < a->count; i++) FUZZ_HOLDS(*dg_kind_name((dg_kind)a->kind[i]));
    for (int i = 0; i < a->skips; i++)
        FUZZ_HOLDS(!strcmp(a->skip[i].reason, b->skip[i].reason) && a->skip[i].bad == b->skip[i].bad);
}

static void write_again(const cache_head *h, const dg_dataset *d)
{
    char path[600];
    dg_dataset again;
    snprintf(path, sizeof path, "%s/cache", fuzz_folder());
    const dg_dataset_options o = {.size = d->size, .channels = d->channels, .threads = 1, .cache = path};
    dg_cache_write(&o, (dg_cache_keys){h->files, h->key}, d);
    FUZZ_HOLDS(read_cache(path, h, false, &again) == DG_CACHE_TAKEN);
    compare(d, &again);
    dg_dataset_free(&again);
}

/* A file that is accepted as a whole is accepted if its images stay in it, and has the same images. */
static void leave_in_file(const char *path, const cache_head *h, const dg_dataset *d)
{
    dg_dataset stays;
    uint8_t *one = malloc(dg_size_values(dg_square(h->size), h->channels));
    FUZZ_HOLDS(read_cache(path, h, true, &stays) == DG_CACHE_TAKEN && stays.fingerprint == d->fingerprint);
    const dg_images images = dg_dataset_images(&stays);
    for (int i = 0; i < d->count && stays.file && one; i++)
        FUZZ_HOLDS(!dg_images_read(&images, i, one) &&
                   !memcmp(one, d->pixels + (size_t)i * images.bytes, images.bytes));
    free(one);
    dg_dataset_free(&stays);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cache_head h = {.size = 8, .channels = 3};
    dg_dataset d;
    if (size >= sizeof h) memcpy(&h, data, sizeof h);
    if (h.size < 1 || h.size > 512 || h.channels < 1 || h.channels > 4) h.size = 8, h.channels = 3;
    size_t bytes;
    uint8_t *file = whole_file(data, size, &bytes);
    const char *path = fuzz_file(0, file, bytes);
    const dg_cache_found found = read_cache(path, &h, false, &d);
    if (found == DG_CACHE_TAKEN) {
        write_again(&h, &d);
        leave_in_file(path, &h, &d);
    } else {
        FUZZ_HOLDS(!d.pixels && !d.file && !d.name && d.count == 0);
    }
    dg_dataset_free(&d);
    free(file);
    return 0;
}

/* Set slots, checksums and fingerprint to values that are accepted. */
static void mend(uint8_t *data, size_t size)
{
    cache_head h;
    memcpy(&h, data, sizeof h);
    memcpy(h.magic, "dcgan-cache-2\n\0", sizeof h.magic);
    const uint64_t left = size - sizeof h, side = (uint64_t)(uint32_t)h.size;
    const uint64_t image = side < 4096 && h.channels > 0 && h.channels < 5 ? side * side * (uint64_t)h.channels : left;
    h.order = 0x01020304;
    h.crc = 0;
    if (h.count > 0 && image && (uint64_t)h.count <= left / (image + CACHE_ARRAYS)) {
        const size_t n = (size_t)h.count;
        uint8_t *pixels = data + sizeof h, *lists = pixels + n * image;
        h.slots = h.count;
        h.lists = left - n * image;
        for (size_t i = 0; i < n; i++) {
            const uint64_t hash = dg_hash(DG_HASH, pixels + i * image, image);
            const int32_t slot = (int32_t)i;
            const uint32_t sum = (uint32_t)crc32(0, pixels + i * image, (uInt)image);
            memcpy(lists + 8 * i, &hash, sizeof hash);
            memcpy(lists + 16 * n + 4 * i, &slot, sizeof slot);
            memcpy(lists + SUMS_AT * n + 4 * i, &sum, sizeof sum);
        }
        uint64_t *all = malloc(n * sizeof *all);
        if (!all) abort();
        memcpy(all, lists, n * sizeof *all);
        const dg_dataset d = {.count = h.count, .size = dg_square(h.size), .channels = h.channels, .hash = all};
        h.fingerprint = dg_dataset_fingerprint(&d, 1);
        free(all);
    }
    uint8_t first[CACHE_HEADER] = {0};
    memcpy(first, &h, sizeof h);
    uLong crc = crc32(0, first, sizeof first);
    const uint64_t lists_at = left - (h.lists <= left ? h.lists : 0);
    if (h.lists <= left) h.crc = (uint32_t)crc32(crc, data + sizeof h + lists_at, (uInt)h.lists);
    memcpy(data, &h, sizeof h);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    unsigned random = seed;
    const unsigned how = fuzz_random(&random, 4);
    if (size <= sizeof(cache_head) || how == 0) size = LLVMFuzzerMutate(data, size, most);
    else if (how == 1) size = fuzz_mutate_part(data, size, sizeof(cache_head), size - sizeof(cache_head), most);
    /* bytes 40 to 87: counts and sizes */
    else if (how == 2) (void)fuzz_mutate_part(data, sizeof(cache_head), 40, 48, sizeof(cache_head));
    else size = fuzz_mutate_part(data, size, 40, size - 40, most);
    if (size > sizeof(cache_head) && fuzz_random(&random, 16)) mend(data, size);
    return size;
}
