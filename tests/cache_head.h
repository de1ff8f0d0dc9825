/* The used part of the header of a cache of decoded images (host/data/dataset_cache.c), for forged caches. */
#pragma once

#include <stdint.h>

typedef struct {
    char magic[16];
    uint32_t order, crc;
    uint64_t key, lists, fingerprint;
    int32_t count, size, channels, skips;
    uint64_t files;
    int64_t made, slots;
} cache_head;

/* bytes of the whole header, and of an image in the lists without its name */
enum { CACHE_HEADER = 4096, CACHE_ARRAYS = 26 };
