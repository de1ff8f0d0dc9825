#include "safetensors.h"

#include <cjson/cJSON.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "atomic.h"
#include "file_kind.h"
#include "json.h"
#include "safetensors_parts.h"
#include "shell.h"

/* No file of ours comes near; a sparse file must not ask for all memory. */
static const size_t largest_file = (size_t)16 << 30;

struct dg_st {
    char *memory;         /* the whole file; tensors may have been moved down, see align() */
    cJSON *root;          /* metadata strings live here */
    dg_st_tensor *tensor; /* in the order of their data */
    dg_st_meta *meta;
    int tensors, metas;
    bool checked;
};

typedef struct {
    const char *name; /* of the file, for messages */
    char *file;
    size_t bytes, header; /* of the file, of the JSON */
    dg_st *st;
} reader;

__attribute__((format(printf, 2, 3), cold)) static dg_err bad(const reader *r, const char *format, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    return dg_fail(DG_IO, "%s: not a safetensors file that can be used: %s", r->name, text);
}

/* A whole number below 2^53: what a double holds exactly. */
static bool whole(const cJSON *item, int64_t *out)
{
    if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0 && item->valuedouble < 9007199254740992.0)) return false;
    *out = (int64_t)item->valuedouble;
    return true;
}

/* {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}: these three and nothing else. */
static dg_err read_tensor(const reader *r, const cJSON *item, dg_st_tensor *t, int64_t offset[2])
{
    const char *name = item->string, *why = dg_st_bad_name(name);
    const cJSON *dtype = NULL, *shape = NULL, *offsets = NULL;
    if (why) return bad(r, "tensor \"%.130s\": %s", name, why);
    if (!cJSON_IsObject(item)) return bad(r, "tensor %s: is not described by { }", name);
    for (const cJSON *f = item->child; f; f = f->next) {
        const cJSON **slot = !strcmp(f->string, "dtype") ? &dtype : !strcmp(f->string, "shape") ? &shape
                             : !strcmp(f->string, "data_offsets") ? &offsets : NULL;
        if (!slot) return bad(r, "tensor %s: unknown key \"%.40s\"", name, f->string);
        if (*slot) return bad(r, "tensor %s: key %s twice", name, f->string);
        *slot = f;
    }
    snprintf(t->name, sizeof t->name, "%s", name);

    int type = 0;
    if (!cJSON_IsString(dtype)) return bad(r, "tensor %s: no dtype", name);
    while (type < DG_TYPES && strcmp(dtype->valuestring, dg_st_type_name[type]) != 0) type++;
    if (type == DG_TYPES)
        return bad(r, "tensor %s: type %.20s; F32, F64, U8, I32 and I64 are understood", name, dtype->valuestring);
    t->type = (dg_type)type;

    uint64_t size = dg_type_bytes(t->type);
    if (!cJSON_IsArray(shape)) return bad(r, "tensor %s: no shape", name);
    for (const cJSON *d = shape->child; d; d = d->next) {
        if (t->rank == DG_ST_RANK_MAX) return bad(r, "tensor %s: more than %d dimensions", name, DG_ST_RANK_MAX);
        int64_t n;
        if (!whole(d, &n) || n == 0)
            return bad(r, "tensor %s: a dimension is not a whole number from 1 to 2^53", name);
        t->dim[t->rank++] = n;
        if (__builtin_mul_overflow(size, (uint64_t)n, &size))
            return bad(r, "tensor %s: shape larger than any file", name);
    }

    if (!cJSON_IsArray(offsets) || cJSON_GetArraySize(offsets) != 2 || !whole(offsets->child, &offset[0]) ||
        !whole(offsets->child->next, &offset[1]))
        return bad(r, "tensor %s: data_offsets are not two whole numbers", name);
    if (offset[1] < offset[0] || (uint64_t)offset[1] > r->bytes - 8 - r->header)
        return bad(r, "tensor %s: its data lies outside the file", name);
    t->bytes = (size_t)(offset[1] - offset[0]);
    if (t->bytes != size)
        return bad(r, "tensor %s: %zu bytes of data, but type and shape need %ju", name, t->bytes, (uintmax_t)size);
    t->data = r->file + 8 + r->header + offset[0];
    return DG_OK;
}

static dg_err read_meta(const reader *r, const cJSON *item)
{
    dg_st *st = r->st;
    if (st->meta) return bad(r, "__metadata__ twice");
    if (!cJSON_IsObject(item)) return bad(r, "__metadata__ is not { }");
    st->meta = malloc(((size_t)cJSON_GetArraySize(item) + 1) * sizeof *st->meta);
    if (!st->meta) return dg_fail(DG_DEVICE, "%s: out of memory", r->name);
    for (const cJSON *f = item->child; f; f = f->next) {
        if (!cJSON_IsString(f)) return bad(r, "metadata \"%.40s\" is not text", f->string);
        st->meta[st->metas++] = (dg_st_meta){f->string, f->valuestring};
    }
    return DG_OK;
}

static int by_key(const void *a, const void *b)
{
    return strcmp(((const dg_st_meta *)a)->key, ((const dg_st_meta *)b)->key);
}
static int by_name(const void *a, const void *b)
{
    return strcmp(((const dg_st_tensor *)a)->name, ((const dg_st_tensor *)b)->name);
}
static int by_data(const void *a, const void *b)
{
    const char *x = ((const dg_st_tensor *)a)->data, *y = ((const dg_st_tensor *)b)->data;
    return (x > y) - (x < y);
}

/* Names are unique, and the data of the tensors fills the file from the header to the end, without a gap in which
 * something could hide and without a byte in two tensors. */
static dg_err check_together(const reader *r)
{
    dg_st *st = r->st;
    size_t n = (size_t)st->tensors;
    dg_st_meta *sorted = malloc(((size_t)st->metas + 1) * sizeof *sorted);
    if (!sorted) return dg_fail(DG_DEVICE, "%s: out of memory", r->name);
    if (st->metas) memcpy(sorted, st->meta, (size_t)st->metas * sizeof *sorted);
    qsort(sorted, (size_t)st->metas, sizeof *sorted, by_key);
    dg_err e = DG_OK;
    for (int i = 1; i < st->metas && !e; i++)
        if (!strcmp(sorted[i - 1].key, sorted[i].key)) e = bad(r, "metadata \"%.40s\" twice", sorted[i].key);
    free(sorted);
    if (e) return e;

    qsort(st->tensor, n, sizeof *st->tensor, by_name);
    for (size_t i = 1; i < n; i++)
        if (!strcmp(st->tensor[i - 1].name, st->tensor[i].name)) return bad(r, "tensor %s twice", st->tensor[i].name);
    qsort(st->tensor, n, sizeof *st->tensor, by_data);
    const char *at = r->file + 8 + r->header;
    for (size_t i = 0; i < n; i++) {
        const char *data = st->tensor[i].data;
        if (data != at)
            return bad(r, "tensor %s: its data %s", st->tensor[i].name,
                       data < at ? "overlaps that of another" : "has a gap in front of it");
        at = data + st->tensor[i].bytes;
    }
    if (at != r->file + r->bytes) return bad(r, "%zu bytes behind the last tensor", (size_t)(r->file + r->bytes - at));
    return DG_OK;
}

/* All checksums or none: a file with a damaged key must not pass for one without checksums. */
static dg_err check_header_crc(const reader *r, int flags)
{
    dg_st *st = r->st;
    bool any = false;
    for (int i = 0; i < st->metas; i++) any |= !strncmp(st->meta[i].key, DG_ST_CRC, sizeof DG_ST_CRC - 1);
    if (!any && (flags & DG_ST_CHECKED))
        return bad(r, "it has no checksums, so this program has not written it (%s import takes weights from elsewhere)",
                   dg_program());
    st->checked = any;
    if (!any) return DG_OK;
    const char *digits = dg_st_find_digits(r->file + 8, r->header);
    char right[9];
    if (digits) snprintf(right, sizeof right, "%08x", dg_st_header_crc(r->file, 8 + r->header, digits));
    if (!digits || memcmp(right, digits, 8) != 0) /* as text: a and A differ by one bit */
        return bad(r, "the header is damaged (its checksum is wrong)");
    return DG_OK;
}

static dg_err check_tensor_crcs(const reader *r)
{
    const dg_st *st = r->st;
    for (int i = 0; i < st->tensors && st->checked; i++) {
        const dg_st_tensor *t = &st->tensor[i];
        char key[sizeof DG_ST_CRC + sizeof t->name], right[9];
        snprintf(key, sizeof key, DG_ST_CRC ".%s", t->name);
        const char *stored = dg_st_get(st, key);
        if (!stored) return bad(r, "tensor %s: has no checksum, though the file has some", t->name);
        snprintf(right, sizeof right, "%08x", dg_st_crc(t->data, t->bytes));
        if (strcmp(stored, right) != 0)
            return bad(r, "tensor %s: its data is damaged (the checksum is wrong)", t->name);
    }
    return DG_OK;
}

/* Data may begin at any byte. Move every tensor down to a multiple of 8, into the room that the header no longer
 * needs: a tensor takes at least 40 bytes of header and at most 7 of padding, so nothing is overwritten unread. */
static void align(const reader *r)
{
    dg_st *st = r->st;
    bool aligned = true;
    for (int i = 0; i < st->tensors; i++) aligned &= ((uintptr_t)st->tensor[i].data & 7) == 0;
    size_t to = 0;
    for (int i = 0; i < st->tensors && !aligned; i++) {
        dg_st_tensor *t = &st->tensor[i];
        memmove(r->file + to, t->data, t->bytes);
        t->data = r->file + to;
        to += (t->bytes + 7) & ~(size_t)7;
    }
}

static dg_err parse(reader *r, int flags)
{
    dg_st *st = r->st;
    if (r->bytes < 8) return bad(r, "%zu bytes are too few", r->bytes);
    uint64_t length = 0;
    for (int i = 7; i >= 0; i--) length = length << 8 | (unsigned char)r->file[i];
    if (length > DG_ST_HEADER_MAX) return bad(r, "a header of %ju bytes; 1 MiB is allowed", (uintmax_t)length);
    if (length > r->bytes - 8)
        return bad(r, "cut off: a header of %ju bytes, but %zu bytes in the file", (uintmax_t)length, r->bytes);
    r->header = (size_t)length;
    const char *header = r->file + 8, *why = dg_st_scan(header, r->header), *end;
    if (why) return bad(r, "header: %s", why);
    const unsigned long refused = dg_json_refused();
    st->root = cJSON_ParseWithLengthOpts(header, r->header, &end, 0);
    if (dg_json_refused() != refused) return dg_fail(DG_DEVICE, "%s: out of memory for its header", r->name);
    if (!st->root || !cJSON_IsObject(st->root)) return bad(r, "header: not JSON");
    for (; end < header + r->header; end++)
        if (*end != ' ' && *end != '\n' && *end != '\r' && *end != '\t') return bad(r, "header: more behind its end");

    int n = 0;
    dg_err e = DG_OK;
    for (const cJSON *item = st->root->child; item && !e; item = item->next) {
        if (!strcmp(item->string, "__metadata__")) e = read_meta(r, item);
        else n++;
    }
    if (!e && n > DG_ST_TENSORS_MAX) e = bad(r, "%d tensors; %d are allowed", n, DG_ST_TENSORS_MAX);
    if (!e && n == 0) e = bad(r, "no tensors");
    if (!e) e = check_header_crc(r, flags);
    if (e) return e;
    st->tensor = calloc((size_t)n, sizeof *st->tensor);
    if (!st->tensor) return dg_fail(DG_DEVICE, "%s: out of memory", r->name);
    for (const cJSON *item = st->root->child; item && !e; item = item->next) {
        int64_t offset[2];
        if (strcmp(item->string, "__metadata__") != 0) e = read_tensor(r, item, &st->tensor[st->tensors++], offset);
    }
    if (!e) e = check_together(r);
    if (!e) e = check_tensor_crcs(r);
    if (!e) align(r);
    return e;
}

/* Takes file over. */
static dg_err open_memory(char *file, size_t bytes, const char *name, int flags, dg_st **out)
{
    reader r = {.name = name, .file = file, .bytes = bytes, .st = calloc(1, sizeof *r.st)};
    *out = NULL;
    if (!r.st) {
        free(file);
        return dg_fail(DG_DEVICE, "%s: out of memory", name);
    }
    r.st->memory = file;
    dg_err e = parse(&r, flags);
    if (e)
        dg_st_free(r.st);
    else
        *out = r.st;
    return e;
}

dg_err dg_st_read(const char *path, int flags, dg_st **out)
{
    void *file;
    size_t bytes;
    *out = NULL;
    dg_err e = dg_read_file(path, largest_file, &file, &bytes);
    if (!e) e = open_memory(file, bytes, path, flags, out);
    return e == DG_IO ? dg_file_explain(path, e) : e;
}

dg_err dg_st_parse(const void *data, size_t bytes, const char *name, int flags, dg_st **out)
{
    *out = NULL;
    char *copy = malloc(bytes + 1);
    if (!copy) return dg_fail(DG_DEVICE, "%s: out of memory for %zu bytes", name, bytes);
    if (bytes) memcpy(copy, data, bytes);
    return open_memory(copy, bytes, name, flags, out);
}

void dg_st_free(dg_st *st)
{
    if (!st) return;
    cJSON_Delete(st->root);
    free(st->tensor);
    free(st->meta);
    free(st->memory);
    free(st);
}

int dg_st_count(const dg_st *st) { return st->tensors; }

const dg_st_tensor *dg_st_at(const dg_st *st, int i) { return &st->tensor[i]; }

const dg_st_tensor *dg_st_find(const dg_st *st, const char *name)
{
    for (int i = 0; i < st->tensors; i++)
        if (!strcmp(st->tensor[i].name, name)) return &st->tensor[i];
    return NULL;
}

const char *dg_st_get(const dg_st *st, const char *key)
{
    for (int i = 0; i < st->metas; i++)
        if (!strcmp(st->meta[i].key, key)) return st->meta[i].value;
    return NULL;
}

int dg_st_meta_count(const dg_st *st) { return st->metas; }

dg_st_meta dg_st_meta_at(const dg_st *st, int i) { return st->meta[i]; }
