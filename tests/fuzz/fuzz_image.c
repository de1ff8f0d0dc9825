/* libFuzzer's way into the decoders: make fuzz, then build-fuzz/fuzz_image -timeout=5 -rss_limit_mb=512 CORPUS.
 * Mutations get their PNG checksums mended, or nearly none would come past them. */
#include "host/image/image.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);

static uint32_t big32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    size = LLVMFuzzerMutate(data, size, most);
    if (seed % 8 == 0 || size < 8 || memcmp(data, "\x89PNG", 4) != 0) return size;
    for (size_t at = 8; size - at >= 12;) {
        uint32_t n = big32(data + at);
        if (n > size - at - 12) {
            if (seed % 8 == 1) break;
            n = (uint32_t)(size - at - 12); /* mend the length, too */
            for (int i = 0; i < 4; i++) data[at + (size_t)i] = (uint8_t)(n >> (24 - 8 * i));
        }
        uint32_t crc = (uint32_t)crc32(0, data + at + 4, n + 4);
        for (int i = 0; i < 4; i++) data[at + 8 + n + (size_t)i] = (uint8_t)(crc >> (24 - 8 * i));
        at += 12 + (size_t)n;
    }
    return size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* The large ones are for the tests of limits, here they would only be slow. */
    dg_decode_options o = {.exif = true, .max_pixels = 1 << 16};
    o.keep_alpha = size % 5 == 1;
    o.alpha = size ? (dg_alpha)(data[size - 1] % 3) : DG_ALPHA_DROP;
    dg_image im, small;
    (void)dg_image_kind(data, size);
    if (dg_image_decode(data, size, &o, &im) == DG_OK) {
        if ((size_t)im.W * (size_t)im.H > o.max_pixels || im.C != (o.keep_alpha ? 4 : 3)) abort();
        dg_fit fit = (dg_fit)(size % 3);
        if (size % 2) dg_image_grey(&im);
        if (dg_image_fit(&im, 16, fit, (dg_resize)(size / 3 % 2), &small) == DG_OK) dg_image_free(&small);
        dg_image_free(&im);
    } else if (im.pixels || !*dg_message()) {
        abort();
    }
    return 0;
}
