/* libFuzzer: TIFF. The mutator changes an entry of the first directory (tag, type, count or value), or any bytes. */
#include "fuzz.h"

#include <string.h>
#include <zlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 8 || (memcmp(data, "II", 2) && memcmp(data, "MM", 2))) return 0;
    fuzz_image(data, size, (unsigned)crc32(0, data, (uInt)size));
    return 0;
}

static size_t get(const uint8_t *p, size_t n, bool big)
{
    size_t v = 0;
    for (size_t i = 0; i < n; i++) v = v << 8 | p[big ? i : n - 1 - i];
    return v;
}

static void put(uint8_t *p, size_t n, bool big, size_t v)
{
    for (size_t i = 0; i < n; i++) p[big ? n - 1 - i : i] = (uint8_t)(v >> 8 * i);
}

static void change_entry(uint8_t *entry, bool big, unsigned *random)
{
    static const uint16_t tag[] = {254, 256, 257, 258, 259, 262, 266, 273, 274, 277, 278, 279, 284, 292, 293, 297,  317,
                                   320, 322, 323, 324, 325, 330, 332, 338, 339, 347, 512, 513, 529, 530, 532, 34675};
    static const uint32_t value[] = {0,  1,  2,  3,     4,     5,     6,     7,     8,     9,          15,        16,
                                     17, 32, 33, 32773, 32809, 32946, 34661, 34676, 34887, 34925,      50000,     50001,
                                     64, 65, 99, 255,   256,   4096,  16384, 65535, 65536, 0x7fffffff, 0xffffffff};
    const size_t v = fuzz_random(random, 4) ? value[fuzz_random(random, sizeof value / sizeof *value)]
                                            : fuzz_random(random, 1 << 16);
    switch (fuzz_random(random, 5)) {
    case 0: put(entry, 2, big, tag[fuzz_random(random, sizeof tag / sizeof *tag)]); return;
    case 1: put(entry + 2, 2, big, 1 + fuzz_random(random, 18)); return;
    case 2: put(entry + 4, 4, big, v); return;
    case 3: put(entry + 8, 2, big, v); return;
    default: put(entry + 8, 4, big, v); return;
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    unsigned random = seed;
    const bool big = size > 8 && data[0] == 'M';
    const size_t at = size > 8 ? get(data + 4, 4, big) : size, n = at + 2 <= size ? get(data + at, 2, big) : 0;
    if (fuzz_random(&random, 3) == 0 || !n || at + 2 + 12 * n > size)
        return size > 8 ? fuzz_mutate_part(data, size, 8, size - 8, most) : LLVMFuzzerMutate(data, size, most);
    for (unsigned k = fuzz_random(&random, 3); k < 3; k++)
        change_entry(data + at + 2 + 12 * fuzz_random(&random, (unsigned)n), big, &random);
    return size;
}
