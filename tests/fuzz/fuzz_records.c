/* libFuzzer: the readers of IDX files (plain or gzipped), CIFAR files and pickles, and NumPy arrays. The mutator
 * changes the contents of gzipped files. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "host/data/records.h"

static volatile unsigned sink;

/* Checks that an error names a byte offset. Without an error, reads all images. */
static void use(dg_err e, const dg_records *r)
{
    if (e) {
        if (strncmp(dg_message(), "byte ", 5) != 0) abort();
        return;
    }
    const size_t image = (size_t)r->width * (size_t)r->height * (size_t)r->channels;
    if (r->count < 1 || image < 1 || image > 1 << 24) abort();
    for (size_t i = 0; i < (size_t)r->count; i++) {
        const uint8_t *p = r->pixels + i * r->stride;
        sink += p[0] + p[image - 1] + (r->label ? r->label[i * r->label_stride] : 0u);
    }
}

static void take_one(const dg_records *r)
{
    uint8_t pixels[8 * 8 * 3], kind;
    int side[2];
    char *name = NULL;
    int32_t label;
    dg_dataset d = {
        .size = dg_square(8), .channels = 3, .pixels = pixels, .name = &name, .width = side, .height = side + 1};
    d.kind = &kind;
    if (r->label) d.label = &label;
    const dg_dataset_options o = {.dir = "fuzz", .size = dg_square(8), .channels = 3, .threads = 1};
    dg_records one = *r;
    one.count = 1;
    if ((size_t)r->width * (size_t)r->height > 1 << 16) return; /* too slow for a fuzz target */
    if (dg_records_take(&o, &one, "train", &(int){0}, 1, 0, NULL, &d) != DG_OK || d.count != 1) abort();
    free(name);
}

static uint8_t *copy_of(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    if (copy && size) memcpy(copy, data, size);
    return copy;
}

static void pickles(const uint8_t *data, size_t size)
{
    uint8_t *batch = copy_of(data, size), *names = copy_of(data, size);
    size_t bytes = size, names_bytes = size;
    dg_records r = {0};
    if (!batch || !names || !dg_cifar_pickled(data, size)) {
        free(batch);
        free(names);
        return;
    }
    dg_err e = dg_cifar_unpickle(&batch, &bytes);
    if (!e && dg_cifar_records(batch, bytes, 10, &r) && dg_cifar_records(batch, bytes, 100, &r)) abort();
    use(e, &r);
    if (!e) take_one(&r);
    e = dg_cifar_unpickle_names(&names, &names_bytes);
    if (e) use(e, &r);
    else if (!names_bytes || names[names_bytes - 1] != '\n' || strlen((char *)names) > names_bytes) abort();
    free(batch);
    free(names);
}

static void arrays(const uint8_t *data, size_t size)
{
    dg_records r = {0};
    dg_npy a;
    uint8_t *exact = copy_of(data, size);
    if (!exact) return;
    dg_err e = dg_npy_images(exact, size, &r);
    use(e, &r);
    if (!e) take_one(&r);
    if (!dg_npy_head(exact, size, &a)) r.count = a.dim[0] < INT32_MAX ? (int)a.dim[0] : 1;
    e = dg_npy_labels(exact, size, &r);
    if (!e)
        for (int i = 0; i < r.count; i++) sink += r.label[(size_t)i * r.label_stride];
    else if (strncmp(dg_message(), "byte ", 5) != 0) abort();
    free(exact);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pickles(data, size);
    arrays(data, size);
    size_t bytes = size;
    uint8_t *plain = malloc(size ? size : 1);
    if (!plain) return 0;
    if (size) memcpy(plain, data, size);
    (void)dg_idx_dimensions(data, size);
    dg_records r = {0};
    dg_err e = dg_idx_unpack(&plain, &bytes);
    /* memory limit that SECURITY.md promises */
    if (!e && bytes > size && bytes > ((size_t)64 << 20) + 50 * size + 1) abort();
    use(e ? e : dg_idx_images(plain, bytes, &r), &r);
    if (!e && r.count) take_one(&r);
    r.count = bytes > 8 ? plain[7] : 1;
    const dg_err labelled = e ? e : dg_idx_labels(plain, bytes, &r);
    if (!labelled)
        for (int i = 0; i < r.count; i++) sink += r.label[i];
    for (int classes = 10; classes <= 100; classes += 90) {
        e = dg_cifar_records(plain, bytes, classes, &r);
        use(e, &r);
        if (!e) take_one(&r);
    }
    free(plain);
    return 0;
}

/* Compresses plain data to gzip format. Returns the compressed size, or 0 if it exceeds `most`. */
static size_t pack(uint8_t *data, size_t most, const uint8_t *plain, size_t bytes)
{
    z_stream z = {0};
    if (deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY) != Z_OK) return 0;
    z.next_in = (Bytef *)(uintptr_t)plain;
    z.avail_in = (uInt)bytes;
    z.next_out = data;
    z.avail_out = (uInt)most;
    const int code = deflate(&z, Z_FINISH);
    deflateEnd(&z);
    return code == Z_STREAM_END ? most - z.avail_out : 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    static uint8_t plain[1 << 17], packed[1 << 17];
    if (size < 2 || data[0] != 0x1f || data[1] != 0x8b || seed % 4 == 0) return LLVMFuzzerMutate(data, size, most);
    uint8_t *inside = malloc(size);
    size_t bytes = size;
    if (!inside) return size;
    memcpy(inside, data, size);
    if (dg_idx_unpack(&inside, &bytes) == DG_OK && bytes <= sizeof plain / 2) {
        memcpy(plain, inside, bytes);
        bytes = LLVMFuzzerMutate(plain, bytes, sizeof plain / 2);
        bytes = pack(packed, most < sizeof packed ? most : sizeof packed, plain, bytes);
        if (bytes) memcpy(data, packed, size = bytes);
    }
    free(inside);
    return size;
}
