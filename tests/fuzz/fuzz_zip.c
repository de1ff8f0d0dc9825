/* libFuzzer: zip files of images, IDX files or CIFAR files. Loading a dataset from a zip file takes limited time. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "host/data/dataset_internal.h"

static double processor_seconds(void) { return (double)clock() / CLOCKS_PER_SEC; }

static void load(const char *path, bool labelled, uint64_t *fingerprint)
{
    const dg_dataset_options o = {.dir = path, .size = dg_square(8), .channels = 3, .threads = 1, .labelled = labelled};
    dg_dataset d;
    const dg_err e = dg_dataset_read(&o, &d);
    *fingerprint = e ? 0 : d.fingerprint;
    FUZZ_HOLDS(!e || (e == DG_DATA && !strncmp(dg_message(), path, strlen(path))));
    for (int i = 0; i < d.count; i++) FUZZ_HOLDS(*d.name[i] && *d.name[i] != '/' && strlen(d.name[i]) < DG_PATH_BYTES);
    dg_dataset_free(&d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path = fuzz_file(0, data, size);
    uint64_t first, again;
    const double begun = processor_seconds();
    if (!dg_zip_inside(path)) return 0;
    load(path, true, &first);
    load(path, true, &again);
    FUZZ_HOLDS(first == again);
    load(path, false, &again);
    FUZZ_HOLDS(processor_seconds() - begun < 60); /* allows 60 CPU seconds to unpack 1 GiB with a sanitizer */
    return 0;
}

static size_t little(const uint8_t *p, int bytes)
{
    size_t v = 0;
    while (bytes--) v = v << 8 | p[bytes];
    return v;
}

/* Renames a zip entry in its central directory header (at offset `at`) and in its local header. */
static void rename_entry(uint8_t *data, size_t size, size_t at, unsigned *random)
{
    static const char *const words[] = {"../", "/", "..", "a/", "./", "\\", "//", "\n"};
    const size_t n = little(data + at + 28, 2), local = little(data + at + 42, 4);
    if (n == 0 || n > size - at - 46 || local > size || size - local < 30 + n) return;
    const char *word = words[fuzz_random(random, 8)];
    const size_t length = strlen(word), to = fuzz_random(random, (unsigned)n);
    if (length > n - to) return;
    memcpy(data + at + 46 + to, word, length);
    memcpy(data + local + 30 + to, word, length);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    unsigned random = seed;
    size_t at[16];
    int n = 0;
    for (size_t i = 0; n < 16 && size >= 46 && i <= size - 46; i++)
        if (!memcmp(data + i, "PK\1\2", 4)) at[n++] = i;
    if (!n || fuzz_random(&random, 2)) return LLVMFuzzerMutate(data, size, most);
    rename_entry(data, size, at[fuzz_random(&random, (unsigned)n)], &random);
    return size;
}
