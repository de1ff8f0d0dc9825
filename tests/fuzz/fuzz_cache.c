/* libFuzzer: the cache of decoded images. Writing and reading must not change a cache that is accepted. */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "host/data/dataset_internal.h"

/* The header of a cache file, as in host/data/dataset_cache.c. */
typedef struct {
    char magic[16];
    uint32_t order, crc;
    uint64_t key, lists, fingerprint;
    int32_t count, size, channels, skips;
    uint64_t files;
    int64_t made;
} head;

static dg_cache_found read_cache(const char *path, const head *h, dg_dataset *d)
{
    const dg_dataset_options o = {.size = h->size, .channels = h->channels, .threads = 1, .cache = path};
    *d = (dg_dataset){.size = o.size, .channels = o.channels};
    return dg_cache_read(&o, (dg_cache_keys){h->files, h->key}, d);
}

static void compare(const dg_dataset *a, const dg_dataset *b)
{
    const size_t bytes = (size_t)a->count * (size_t)a->size * (size_t)a->size * (size_t)a->channels;
    FUZZ_HOLDS(a->count == b->count && a->skips == b->skips && a->fingerprint == b->fingerprint);
    FUZZ_HOLDS(!memcmp(a->pixels, b->pixels, bytes));
    for (int i = 0; i < a->count; i++)
        FUZZ_HOLDS(!strcmp(a->name[i], b->name[i]) && a->width[i] == b->width[i] && a->kind[i] == b->kind[i]);
    for (int i = 0; i < a->count; i++) FUZZ_HOLDS(*dg_kind_name((dg_kind)a->kind[i]));
    for (int i = 0; i < a->skips; i++)
        FUZZ_HOLDS(!strcmp(a->skip[i].reason, b->skip[i].reason) && a->skip[i].bad == b->skip[i].bad);
}

static void write_again(const head *h, const dg_dataset *d)
{
    char path[600];
    dg_dataset again;
    snprintf(path, sizeof path, "%s/cache", fuzz_folder());
    const dg_dataset_options o = {.size = d->size, .channels = d->channels, .threads = 1, .cache = path};
    dg_cache_write(&o, (dg_cache_keys){h->files, h->key}, d);
    FUZZ_HOLDS(read_cache(path, h, &again) == DG_CACHE_TAKEN);
    compare(d, &again);
    dg_dataset_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    head h = {.size = 8, .channels = 3};
    dg_dataset d;
    if (size >= sizeof h) memcpy(&h, data, sizeof h);
    if (h.size < 1 || h.size > 512 || h.channels < 1 || h.channels > 4) h.size = 8, h.channels = 3;
    const dg_cache_found found = read_cache(fuzz_file(0, data, size), &h, &d);
    if (found == DG_CACHE_TAKEN) write_again(&h, &d);
    else FUZZ_HOLDS(!d.pixels && !d.name && d.count == 0);
    dg_dataset_free(&d);
    return 0;
}

static void mend(uint8_t *data, size_t size)
{
    head h;
    memcpy(&h, data, sizeof h);
    memcpy(h.magic, "dcgan-cache-1\n\0", sizeof h.magic);
    const uint64_t left = size - sizeof h, side = (uint64_t)(uint32_t)h.size;
    uint64_t pixels = side < 4096 && h.channels > 0 && h.channels < 5 ? side * side * (uint64_t)h.channels : left + 1;
    pixels = h.count > 0 && (uint64_t)h.count <= left ? pixels * (uint64_t)h.count : left + 1;
    h.order = 0x01020304;
    h.crc = 0;
    if (pixels > 0 && pixels <= left) {
        const dg_dataset d = {.count = h.count,
                              .size = h.size,
                              .channels = h.channels,
                              .pixels = data + size - (size_t)pixels};
        h.lists = left - pixels;
        h.fingerprint = dg_dataset_fingerprint(&d, 1);
    }
    uLong crc = crc32(0, (const Bytef *)&h, sizeof h);
    if (h.lists <= left) h.crc = (uint32_t)crc32(crc, data + sizeof h, (uInt)h.lists);
    memcpy(data, &h, sizeof h);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    unsigned random = seed;
    const unsigned how = fuzz_random(&random, 4);
    if (size <= sizeof(head) || how == 0) size = LLVMFuzzerMutate(data, size, most);
    else if (how == 1) size = fuzz_mutate_part(data, size, sizeof(head), size - sizeof(head), most);
    /* bytes 40 to 79: counts and sizes */
    else if (how == 2) (void)fuzz_mutate_part(data, sizeof(head), 40, 40, sizeof(head));
    else size = fuzz_mutate_part(data, size, 40, size - 40, most);
    if (size > sizeof(head) && fuzz_random(&random, 16)) mend(data, size);
    return size;
}
