/* libFuzzer: JPEG with EXIF. The mutator changes, inserts, repeats and drops segments. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "host/image/image_internal.h"

enum { SEGMENTS = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const int orientation = dg_exif_orientation(data, size);
    FUZZ_HOLDS(orientation >= 1 && orientation <= 8);
    fuzz_image(data, size, (unsigned)crc32(0, data, (uInt)size));
    return 0;
}

/* Stores the offset of each segment in `at` and returns their number. The last segment includes the pixels. */
static int split(const uint8_t *data, size_t size, size_t at[SEGMENTS + 1])
{
    int n = 0;
    size_t i = 2;
    for (; n < SEGMENTS - 1 && size - i >= 4 && data[i] == 0xff && data[i + 1] != 0xda; n++) {
        const size_t length = (size_t)data[i + 2] << 8 | data[i + 3];
        at[n] = i;
        if (length < 2 || length > size - i - 2) break;
        i += 2 + length;
    }
    at[n++] = i;
    at[n] = size;
    return n;
}

static size_t put(uint8_t *data, size_t size, size_t at, const uint8_t *what, size_t n, size_t most)
{
    if (n > most - size) return size;
    memmove(data + at + n, data + at, size - at);
    memcpy(data + at, what, n);
    return size + n;
}

static size_t put_exif(uint8_t *data, size_t size, size_t most, unsigned *random)
{
    uint8_t s[96] = {0xff, 0xe1, 0, 0, 'E', 'x', 'i', 'f'}, *tiff = s + 10;
    const bool big = fuzz_random(random, 2);
    const unsigned entries = 1 + fuzz_random(random, 3), fields[] = {0x112, 0x10f, 0x8769, fuzz_random(random, 65536)};
    memcpy(tiff, big ? "MM\0*\0\0\0\10" : "II*\0\10\0\0\0", 8);
    tiff[8 + big] = (uint8_t)entries;
    for (unsigned i = 0; i < entries; i++) {
        uint8_t *e = tiff + 10 + (size_t)12 * i;
        const unsigned tag = fields[fuzz_random(random, 4)], type = fuzz_random(random, 6),
                       value = fuzz_random(random, 10);
        e[!big] = (uint8_t)(tag >> 8);
        e[big] = (uint8_t)tag;
        e[2 + big] = (uint8_t)type;
        e[big ? 7 : 4] = (uint8_t)(1 + fuzz_random(random, 5) / 4);
        e[type == 3 ? 8 + big : big ? 11 : 8] = (uint8_t)value;
    }
    const size_t n = 10 + 10 + (size_t)12 * entries + fuzz_random(random, 9);
    s[3] = (uint8_t)(n - 2);
    if (fuzz_random(random, 3) == 0) (void)LLVMFuzzerMutate(tiff, n - 10, n - 10);
    return put(data, size, 2, s, n, most);
}

static size_t mutate_segment(uint8_t *data, size_t size, size_t from, size_t end, size_t most)
{
    const size_t room = most - size < 65000 ? most : size + 65000;
    const size_t now = fuzz_mutate_part(data, size, from + 4, end - from - 4, room);
    const size_t length = end - from - 2 + now - size;
    data[from + 2] = (uint8_t)(length >> 8);
    data[from + 3] = (uint8_t)length;
    return now;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    size_t at[SEGMENTS + 1];
    unsigned random = seed;
    const unsigned how = fuzz_random(&random, 8);
    if (size < 4 || how == 0 || data[0] != 0xff || data[1] != 0xd8) return LLVMFuzzerMutate(data, size, most);
    const int n = split(data, size, at);
    const int i = (int)fuzz_random(&random, (unsigned)n);
    const size_t from = at[i], end = at[i + 1], bytes = end - from;
    if (how == 1) return put_exif(data, size, most, &random);
    if (how == 2 && bytes <= most - size) {
        uint8_t *copy = malloc(bytes + 1);
        if (!copy) return size;
        memcpy(copy, data + from, bytes);
        size = put(data, size, at[fuzz_random(&random, (unsigned)n)], copy, bytes, most);
        free(copy);
        return size;
    }
    if (how == 3 && i < n - 1) {
        memmove(data + from, data + end, size - end);
        return size - bytes;
    }
    if (i == n - 1 || bytes < 4) return fuzz_mutate_part(data, size, from, bytes, most);
    return mutate_segment(data, size, from, end, most);
}
