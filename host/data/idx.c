/* Reads IDX files of bytes (MNIST, yann.lecun.com). An IDX file begins with two zero bytes, a type (8: unsigned
 * bytes) and the number of dimensions. The dimensions (4 bytes each, big-endian) and the values follow. */
#include "core/base/bytes.h"
#include "host/data/records_internal.h"
#include "host/files/made.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>
#include <fnmatch.h>

enum { LABELS = 1, IMAGES = 3, HEADER_MOST = 4 + 4 * IMAGES, SIDE_MOST = 4096 };

/* Limits for gzipped files. MNIST unpacks to 5 times its size. The 8 million digits of infinite MNIST have 6.4 GB. */
static const uint64_t UNPACKED_MOST = (uint64_t)8 << 30, UNPACKED_RATIO = 50, UNPACKED_FREE = 64 << 20;

static bool gzipped(const uint8_t *data, size_t bytes) { return bytes > 2 && data[0] == 0x1f && data[1] == 0x8b; }

static const char no_memory[] = "no memory";

/* Unpack at most `room` bytes, and return their number. `*end` is true if the gzipped data is complete and intact. */
static size_t inflate_some(const uint8_t *data, size_t bytes, uint8_t *out, size_t room, bool *end, const char **why)
{
    z_stream z = {0};
    size_t done = 0;
    int code = inflateInit2(&z, 15 + 16);
    *end = false;
    *why = no_memory;
    if (code != Z_OK) return 0;
    z.next_in = (Bytef *)(uintptr_t)data;
    z.next_out = out;
    while (code == Z_OK && (done < room || bytes)) {
        const uInt in = (uInt)(bytes < 1 << 30 ? bytes : 1 << 30),
                   left = room - done < 1 << 30 ? (uInt)(room - done) : 1 << 30;
        z.avail_in = in;
        z.avail_out = left;
        code = inflate(&z, Z_NO_FLUSH);
        bytes -= in - z.avail_in;
        done += left - z.avail_out;
    }
    *end = code == Z_STREAM_END && !bytes;
    *why = code == Z_STREAM_END            ? "data after the end of the gzip stream"
           : code == Z_MEM_ERROR           ? no_memory
           : code == Z_DATA_ERROR && z.msg ? z.msg
                                           : "cut off";
    inflateEnd(&z);
    return done;
}

/* Returns the number of dimensions, or 0 for data that is not IDX of bytes. `*needed` is the file size that the
 * header declares. */
static int read_header(const uint8_t *data, size_t bytes, uint64_t *needed)
{
    const int n = bytes >= 4 && !data[0] && !data[1] && data[2] == 8 ? data[3] : 0;
    if (n != LABELS && n != IMAGES) return 0;
    uint64_t values = 1;
    const size_t header = 4 + 4 * (size_t)n;
    for (size_t at = 4; at < header && at + 4 <= bytes; at += 4) {
        const uint64_t side = dg_big_endian(data + at);
        values = side && values > UINT64_MAX / 2 / side ? UINT64_MAX / 2 : values * side;
    }
    *needed = values + header;
    return n;
}

int dg_idx_dimensions(const uint8_t *head, size_t bytes)
{
    uint8_t plain[HEADER_MOST];
    uint64_t needed;
    bool end;
    const char *why;
    if (!gzipped(head, bytes)) return read_header(head, bytes, &needed);
    return read_header(plain, inflate_some(head, bytes, plain, sizeof plain, &end, &why), &needed);
}

dg_err dg_idx_limit(const uint8_t *head, size_t bytes, uint64_t *limit)
{
    uint64_t needed;
    *limit = UNPACKED_MOST;
    if (gzipped(head, bytes) || !read_header(head, bytes, &needed)) return DG_OK;
    if (needed > UNPACKED_MOST)
        return dg_fail(DG_DATA, "byte 4: the header declares %llu bytes; the limit is %llu", (unsigned long long)needed,
                       (unsigned long long)UNPACKED_MOST);
    *limit = needed + UNPACKED_FREE;
    return DG_OK;
}

static dg_err unpacked_bytes(const uint8_t *data, size_t bytes, uint64_t *needed)
{
    uint8_t head[HEADER_MOST];
    bool end;
    const char *why;
    const size_t n = inflate_some(data, bytes, head, sizeof head, &end, &why);
    if (why == no_memory) return dg_fail(DG_DEVICE, "no memory to unpack the gzipped data");
    const int dimensions = read_header(head, n, needed);
    if (!dimensions || n < 4 + 4 * (size_t)dimensions) *needed = n;
    const uint64_t most = UNPACKED_FREE + UNPACKED_RATIO * (uint64_t)bytes;
    if (*needed > UNPACKED_MOST || *needed > most)
        return dg_fail(DG_DATA,
                       "byte 4 of the unpacked data: the header declares %llu bytes, but at most %llu are allowed for "
                       "a gzipped file of %zu bytes; if the file is intact, unpack it (gunzip)",
                       (unsigned long long)*needed, (unsigned long long)(most < UNPACKED_MOST ? most : UNPACKED_MOST),
                       bytes);
    return DG_OK;
}

dg_err dg_idx_unpack(uint8_t **data, size_t *bytes)
{
    uint64_t needed;
    bool end;
    const char *why;
    if (!gzipped(*data, *bytes)) return DG_OK;
    const dg_err e = unpacked_bytes(*data, *bytes, &needed);
    if (e) return e;
    uint8_t *plain = malloc((size_t)needed + 1);
    const size_t n = plain ? inflate_some(*data, *bytes, plain, (size_t)needed + 1, &end, &why) : 0;
    if (!plain || why == no_memory) {
        free(plain);
        return dg_fail(DG_DEVICE, "no memory to unpack the gzipped data");
    }
    if (!end && n <= needed) {
        free(plain);
        return dg_fail(DG_DATA, "byte %zu of the unpacked data: the gzipped file is damaged: %s", n, why);
    }
    free(*data);
    *data = plain;
    *bytes = n; /* n = needed + 1 marks a file that is longer than its header declares */
    return DG_OK;
}

static dg_err check(const uint8_t *data, size_t bytes, int dimensions)
{
    const uint8_t magic[4] = {0, 0, 8, (uint8_t)dimensions};
    const size_t header = 4 + 4 * (size_t)dimensions;
    for (size_t i = 0; i < 4 && i < bytes; i++)
        if (data[i] != magic[i])
            return dg_fail(DG_DATA, "byte %zu: %02x, but an IDX file of %s begins with 00 00 08 %02x", i, data[i],
                           dimensions == LABELS ? "labels" : "images", dimensions);
    if (bytes < header)
        return dg_fail(DG_DATA, "byte %zu: the file ends within its header of %zu bytes", bytes, header);
    const uint32_t count = dg_big_endian(data + 4);
    if (!count || count > DG_FILES_MAX)
        return dg_fail(DG_DATA, "byte 4: count %u: must be 1 to %d", count, DG_FILES_MAX);
    for (size_t i = 8; i < header; i += 4) {
        const uint32_t side = dg_big_endian(data + i);
        if (!side || side > SIDE_MOST)
            return dg_fail(DG_DATA, "byte %zu: side of %u pixels: must be 1 to %d", i, side, SIDE_MOST);
    }
    uint64_t needed;
    (void)read_header(data, bytes, &needed);
    if (bytes < needed)
        return dg_fail(DG_DATA, "byte %zu: the file ends; its header declares %llu bytes", bytes,
                       (unsigned long long)needed);
    if (bytes > needed)
        return dg_fail(DG_DATA, "byte %llu: the file is longer than its header declares", (unsigned long long)needed);
    return DG_OK;
}

dg_err dg_idx_images(const uint8_t *data, size_t bytes, dg_records *out)
{
    dg_err e = check(data, bytes, IMAGES);
    if (e) return e;
    *out = (dg_records){.pixels = data + 16,
                        .count = (int)dg_big_endian(data + 4),
                        .height = (int)dg_big_endian(data + 8),
                        .width = (int)dg_big_endian(data + 12),
                        .channels = 1,
                        .kind = DG_KIND_IDX};
    out->stride = (size_t)out->height * (size_t)out->width;
    return DG_OK;
}

dg_err dg_idx_labels(const uint8_t *data, size_t bytes, dg_records *out)
{
    dg_err e = check(data, bytes, LABELS);
    if (e) return e;
    const uint32_t count = dg_big_endian(data + 4);
    if (count != (uint32_t)out->count) return dg_fail(DG_DATA, "byte 4: %u labels for %d images", count, out->count);
    out->label = data + 8;
    out->label_stride = 1;
    return DG_OK;
}

bool dg_idx_named(const char *name)
{
    return !fnmatch("*idx[13]-ubyte", name, 0) || !fnmatch("*idx[13]-ubyte.gz", name, 0);
}

static bool is_test(const char *name) { return strstr(name, "t10k") || strstr(name, "test"); }

static bool packed_twin(const char *packed, const char *plain)
{
    const size_t n = strlen(plain);
    return !strncmp(packed, plain, n) && !strcmp(packed + n, ".gz");
}

/* The size limit also applies to uncompressed files, because a sparse file can be huge. */
static dg_err read_file(const dg_dataset_options *o, const dg_record_files *f, dg_record_file *file)
{
    uint8_t head[DG_HEAD_BYTES];
    size_t bytes;
    uint64_t limit;
    dg_lost lost;
    atomic_init(&lost, 0);
    dg_err e = dg_file_head(f->folder, file->name, &lost, head, sizeof head, &bytes);
    if (!e) e = dg_idx_limit(head, bytes, &limit);
    return e ? dg_record_file_wrong(o, file, e) : dg_record_file_read(o, f->folder, (size_t)limit, file);
}

static dg_err sort_out(const dg_dataset_options *o, dg_record_files *f)
{
    for (int i = 0; i < f->files; i++)
        for (int k = 0; k < f->files; k++)
            if (packed_twin(f->file[i].name, f->file[k].name)) {
                free(f->file[i].name);
                memmove(f->file + i, f->file + i + 1, sizeof *f->file * (size_t)(--f->files - i));
                i = -1;
                break;
            }
    for (int i = 0; i < f->files; i++) {
        dg_record_file *file = f->file + i, *first;
        file->part = is_test(file->name) ? DG_PART_TEST : DG_PART_TRAIN;
        dg_err e = read_file(o, f, file);
        if (!e) e = dg_record_file_wrong(o, file, dg_idx_unpack(&file->data, &file->bytes));
        if (e) return e;
        const int dimensions = dg_idx_dimensions(file->data, file->bytes);
        file->labels = dimensions ? dimensions == 1 : strstr(file->name, "idx1") != NULL;
        first = dg_record_find(f, file->part, file->labels);
        if (first && first != file)
            return dg_fail(DG_DATA, "%s: %s and %s both contain the %s for %s; keep one of them", o->dir, first->name,
                           file->name, file->labels ? "labels" : "images",
                           file->part == DG_PART_TEST ? "testing" : "training");
    }
    return DG_OK;
}

/* The images of EMNIST are stored column by column. Its files are named so. */
static bool emnist(const char *name) { return !strncasecmp(name, "emnist", 6); }

static void turn(dg_records *r)
{
    const int side = r->width;
    r->width = r->height;
    r->height = side;
    r->turned = true;
}

static dg_err pair(const dg_dataset_options *o, dg_record_files *f, dg_part part)
{
    dg_record_file *images = dg_record_find(f, part, false), *labels = dg_record_find(f, part, true);
    if (labels && !images)
        return dg_record_file_wrong(o, labels, dg_fail(DG_DATA, "the image file for these labels is missing"));
    if (!images) return DG_OK;
    dg_err e = dg_idx_images(images->data, images->bytes, &images->records);
    if (!e && emnist(images->name)) turn(&images->records);
    if (e || !labels) return dg_record_file_wrong(o, images, e);
    return dg_record_file_wrong(o, labels, dg_idx_labels(labels->data, labels->bytes, &images->records));
}

dg_err dg_idx_read(const dg_dataset_options *o, dg_record_files *f, dg_dataset *out)
{
    dg_err e = sort_out(o, f);
    for (int part = 0; part < DG_PARTS && !e; part++) e = pair(o, f, (dg_part)part);
    return e ? e : dg_records_labelled(o, f, out);
}
