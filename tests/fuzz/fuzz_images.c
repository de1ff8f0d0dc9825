/* libFuzzer: the readers of WebP, BMP and GIF. */
#include "fuzz.h"

#include <string.h>
#include <zlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* fuzz_png, fuzz_jpeg and fuzz_tiff test PNG, JPEG and TIFF */
    if (size > 1 && (data[0] == 0x89 || data[0] == 0xff || data[0] == 'I' || data[0] == 'M')) return 0;
    fuzz_image(data, size, (unsigned)crc32(0, data, (uInt)size));
    return 0;
}

static void put_little32(uint8_t *p, size_t v)
{
    for (int i = 0; i < 4; i++) p[i] = (uint8_t)(v >> 8 * i);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    unsigned random = seed;
    const bool webp = size > 20 && !memcmp(data, "RIFF", 4) && !memcmp(data + 8, "WEBP", 4);
    const size_t keep = webp ? 20 : size > 6 && !memcmp(data, "GIF8", 4) ? 6 : size > 18 && data[0] == 'B' ? 18 : 0;
    const unsigned how = fuzz_random(&random, 4);
    size = how && keep ? fuzz_mutate_part(data, size, keep, size - keep, most) : LLVMFuzzerMutate(data, size, most);
    if (!webp || !how || size <= 20) return size;
    put_little32(data + 4, size - 8);
    if (memcmp(data + 12, "VP8X", 4) != 0) put_little32(data + 16, size - 20);
    return size;
}
