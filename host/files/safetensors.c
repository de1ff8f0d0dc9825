#include "host/files/safetensors.h"

#include <cjson/cJSON.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/file_io.h"
#include "host/files/json.h"
#include "host/files/safetensors_internal.h"
#include "core/base/shell.h"

/* Max file size: a sparse file could declare more data than fits into memory. */
static const size_t largest_file = (size_t)16 << 30;

typedef struct {
    dg_st_tensor t;    /* must be the first member: a pointer to t is also a pointer to `placed` */
    size_t at, stored; /* at: offset of the data after the header; stored: size of the data in the file in bytes */
    dg_st_narrow narrow;
    const char *type;
    char plain[sizeof((dg_st_tensor *)0)->name];
} placed;

struct dg_st {
    char *name;
    int fd;       /* descriptor of the file until its data is read, then -1 */
    char *memory; /* data of all tensors, each at a multiple of 8 bytes, or NULL before the data is read */
    cJSON *root;  /* parsed header, which owns the metadata strings */
    placed *tensor;
    dg_st_meta *meta;
    int tensors, metas;
    bool checked;
};

typedef struct {
    const char *name;
    const char *file; /* length field and JSON header of the file */
    size_t bytes, header;
    dg_st *st;
} reader;

__attribute__((format(printf, 2, 3), cold)) static dg_err bad(const reader *r, const char *format, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    return dg_fail(DG_IO, DG_MSG("bad-safetensors", "%s: not a valid safetensors file: %s"), r->name, text);
}

/* True if item is an integer from 0 to 2^53 - 1, which a double represents exactly. */
static bool whole(const cJSON *item, int64_t *out)
{
    if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0 && item->valuedouble < 9007199254740992.0)) return false;
    *out = (int64_t)item->valuedouble;
    return true;
}

static dg_err read_type(const reader *r, const cJSON *dtype, placed *out, uint64_t *size)
{
    int type = 0;
    const char *name = out->t.name;
    if (!dtype || !cJSON_IsString(dtype)) return bad(r, "tensor %s: no dtype", name);
    out->type = dtype->valuestring;
    out->narrow = dg_st_narrow_type(out->type);
    while (type < DG_TYPES && strcmp(out->type, dg_st_type_name[type]) != 0) type++;
    if (out->narrow) type = DG_F32;
    if (type == DG_TYPES)
        return bad(r,
                   "tensor %s: its dtype is %.20s (F64, F32, F16, BF16, I64, I32 and U8 are read); in Python, write "
                   "it as F32: save_file({k: t.float() for k, t in load_file(FILE).items()}, 'netG.safetensors')",
                   name, out->type);
    out->t.type = (dg_type)type;
    *size = out->narrow ? 2 : dg_type_bytes(out->t.type);
    return DG_OK;
}

static dg_err read_tensor(const reader *r, const cJSON *item, placed *out)
{
    dg_st_tensor *t = &out->t;
    int64_t offset[2];
    const char *name = item->string, *why = dg_st_bad_name(name, false);
    const cJSON *dtype = NULL, *shape = NULL, *offsets = NULL;
    if (why) return bad(r, "tensor \"%.130s\": %s", name, why);
    if (!cJSON_IsObject(item)) return bad(r, "tensor %s: its description is not a JSON object", name);
    for (const cJSON *f = item->child; f; f = f->next) {
        const cJSON **slot = !strcmp(f->string, "dtype")          ? &dtype
                             : !strcmp(f->string, "shape")        ? &shape
                             : !strcmp(f->string, "data_offsets") ? &offsets
                                                                  : NULL;
        if (!slot) continue;
        if (*slot) return bad(r, "tensor %s: duplicate key %s", name, f->string);
        *slot = f;
    }
    snprintf(t->name, sizeof t->name, "%s", name);
    dg_st_plain_name(t->name, out->plain);

    uint64_t size = 0;
    dg_err e = read_type(r, dtype, out, &size);
    if (e) return e;
    if (!shape || !cJSON_IsArray(shape)) return bad(r, "tensor %s: no shape", name);
    for (const cJSON *d = shape->child; d; d = d->next) {
        if (t->rank == DG_ST_RANK_MAX) return bad(r, "tensor %s: more than %d dimensions", name, DG_ST_RANK_MAX);
        int64_t n;
        if (!whole(d, &n)) return bad(r, "tensor %s: a dimension is not a whole number from 0 to 2^53", name);
        t->dim[t->rank++] = n;
        if (__builtin_mul_overflow(size, (uint64_t)n, &size))
            return bad(r, "tensor %s: shape larger than any file", name);
    }

    if (!offsets || !cJSON_IsArray(offsets) || cJSON_GetArraySize(offsets) != 2 || !whole(offsets->child, &offset[0]) ||
        !whole(offsets->child->next, &offset[1]))
        return bad(r, "tensor %s: data_offsets are not two whole numbers", name);
    if (offset[1] < offset[0] || (uint64_t)offset[1] > r->bytes - 8 - r->header)
        return bad(r, "tensor %s: its data is outside the file", name);
    out->stored = (size_t)(offset[1] - offset[0]);
    if (out->stored != size)
        return bad(r, "tensor %s: %zu bytes of data, but type and shape need %ju", name, out->stored, (uintmax_t)size);
    t->bytes = out->stored << (out->narrow != DG_ST_SAME);
    out->at = (size_t)offset[0];
    return DG_OK;
}

static dg_err read_meta(const reader *r, const cJSON *item)
{
    dg_st *st = r->st;
    if (st->meta) return bad(r, "duplicate __metadata__");
    if (cJSON_IsNull(item)) return DG_OK;
    if (!cJSON_IsObject(item)) return bad(r, "__metadata__ is not a JSON object");
    st->meta = malloc(((size_t)cJSON_GetArraySize(item) + 1) * sizeof *st->meta);
    if (!st->meta) return dg_fail(DG_DEVICE, "%s: out of memory", r->name);
    for (const cJSON *f = item->child; f; f = f->next) {
        if (!cJSON_IsString(f)) return bad(r, "metadata \"%.40s\" is not a string", f->string);
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
    const placed *x = a, *y = b;
    if (x->at != y->at) return x->at < y->at ? -1 : 1;
    return (x->stored > y->stored) - (x->stored < y->stored);
}

/* Check that tensor names are unique, and that the data of all tensors fills the file without gaps or overlaps. */
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
        if (!strcmp(sorted[i - 1].key, sorted[i].key)) e = bad(r, "duplicate metadata key \"%.40s\"", sorted[i].key);
    free(sorted);
    if (e) return e;

    qsort(st->tensor, n, sizeof *st->tensor, by_name);
    for (size_t i = 1; i < n; i++)
        if (!by_name(&st->tensor[i - 1], &st->tensor[i])) return bad(r, "duplicate tensor %s", st->tensor[i].t.name);
    qsort(st->tensor, n, sizeof *st->tensor, by_data);
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        const placed *p = &st->tensor[i];
        if (p->at != at)
            return bad(r, "tensor %s: its data %s", p->t.name,
                       p->at < at ? "overlaps the data of another tensor" : "begins after unused bytes");
        at += p->stored;
    }
    const size_t data = r->bytes - 8 - r->header;
    return at == data ? DG_OK : bad(r, "%zu bytes after the last tensor", data - at);
}

/* Check the header's checksum. A file with only some of the checksums is damaged. */
static dg_err check_header_crc(const reader *r, int flags)
{
    dg_st *st = r->st;
    bool any = false;
    for (int i = 0; i < st->metas; i++) /* NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): metas have keys */
        any |= !strncmp(st->meta[i].key, DG_ST_CRC, sizeof DG_ST_CRC - 1);
    if (!any && (flags & DG_ST_CHECKED))
        return bad(r, "no checksums, so dcgan did not write it (%s import reads weights of other programs)",
                   dg_program());
    st->checked = any;
    if (!any) return DG_OK;
    const char *digits = dg_st_find_digits(r->file + 8, r->header);
    char right[9];
    if (digits) snprintf(right, sizeof right, "%08x", dg_st_header_crc(r->file, 8 + r->header, digits));
    if (!digits || memcmp(right, digits, 8) != 0) /* compared as text, because "A" instead of "a" is damage, too */
        return bad(r, "the header is damaged (wrong checksum)");
    return DG_OK;
}

static dg_err check_tensor_crcs(const reader *r)
{
    const dg_st *st = r->st;
    for (int i = 0; i < st->tensors && st->checked; i++) {
        const dg_st_tensor *t = &st->tensor[i].t;
        char key[sizeof DG_ST_CRC + sizeof t->name], right[9];
        snprintf(key, sizeof key, DG_ST_CRC ".%s", t->name);
        const char *stored = dg_st_get(st, key);
        if (!stored) return bad(r, "tensor %s: its checksum is missing", t->name);
        snprintf(right, sizeof right, "%08x", dg_st_crc(t->data, t->bytes));
        if (strcmp(stored, right) != 0) return bad(r, "tensor %s: its data is damaged (wrong checksum)", t->name);
    }
    return DG_OK;
}

static dg_err measure(reader *r)
{
    if (r->bytes < 8) return bad(r, "the file has %zu bytes; a safetensors file has at least 8", r->bytes);
    uint64_t length = 0;
    for (int i = 7; i >= 0; i--) length = length << 8 | (unsigned char)r->file[i];
    if (length > DG_ST_HEADER_MAX)
        return bad(
            r,
            "a header of %ju bytes (limit 1,048,576); in Python, load the file and write it again with less metadata",
            (uintmax_t)length);
    if (length > r->bytes - 8)
        return bad(r, "cut off: a header of %ju bytes, but the file has only %zu bytes", (uintmax_t)length, r->bytes);
    r->header = (size_t)length;
    return DG_OK;
}

static dg_err parse(const reader *r, int flags)
{
    dg_st *st = r->st;
    const char *header = r->file + 8, *why = dg_st_scan(header, r->header), *end;
    if (why) return bad(r, "header: %s", why);
    const unsigned long refused = dg_json_refused();
    st->root = cJSON_ParseWithLengthOpts(header, r->header, &end, 0);
    if (dg_json_refused() != refused)
        return dg_fail(DG_DEVICE, "%s: out of memory for the header of this file", r->name);
    if (!st->root || !cJSON_IsObject(st->root)) return bad(r, "header: not JSON");
    for (; end < header + r->header; end++)
        if (*end != ' ' && *end != '\n' && *end != '\r' && *end != '\t') return bad(r, "header: data after its end");

    int n = 0;
    dg_err e = DG_OK;
    for (const cJSON *item = st->root->child; item && !e; item = item->next) {
        if (!strcmp(item->string, "__metadata__")) e = read_meta(r, item);
        else n++;
    }
    if (!e && n > DG_ST_TENSORS_MAX) e = bad(r, "%d tensors (limit %d); write only one network", n, DG_ST_TENSORS_MAX);
    if (!e && n == 0) e = bad(r, "no tensors");
    if (!e) e = check_header_crc(r, flags);
    if (e) return e;
    /* NOLINTNEXTLINE(clang-analyzer-optin.portability.UnixAPI): n > 0 was checked above */
    st->tensor = calloc((size_t)n, sizeof *st->tensor);
    if (!st->tensor) return dg_fail(DG_DEVICE, "%s: out of memory", r->name);
    for (const cJSON *item = st->root->child; item && !e; item = item->next)
        if (strcmp(item->string, "__metadata__") != 0) e = read_tensor(r, item, &st->tensor[st->tensors++]);
    return e ? e : check_together(r);
}

/* Read the data of all tensors from `from` or, if `from` is NULL, from the open file. */
static dg_err take_data(dg_st *st, const char *from)
{
    size_t all = 0;
    for (int i = 0; i < st->tensors; i++) all += (st->tensor[i].t.bytes + 7) & ~(size_t)7;
    st->memory = malloc(all ? all : 1);
    if (!st->memory) return dg_fail(DG_DEVICE, "%s: out of memory for the %zu bytes of this file", st->name, all);
    char *to = st->memory;
    dg_err e = DG_OK;
    for (int i = 0; i < st->tensors && !e; i++) {
        dg_st_tensor *t = &st->tensor[i].t;
        const placed *p = &st->tensor[i];
        char *stored = to + t->bytes - p->stored;
        if (from) memcpy(stored, from + p->at, p->stored);
        else e = dg_read_next(st->fd, st->name, stored, p->stored);
        if (!e && p->narrow) dg_st_widen(to, p->stored / 2, p->narrow);
        t->data = to;
        to += (t->bytes + 7) & ~(size_t)7;
    }
    return e ? e : check_tensor_crcs(&(reader){.name = st->name, .st = st});
}

static dg_err begin(const char *name, dg_st **out)
{
    dg_st *st = *out = calloc(1, sizeof *st);
    if (st) st->fd = -1;
    if (st && (st->name = strdup(name))) return DG_OK;
    return dg_fail(DG_DEVICE, "%s: out of memory", name);
}

static dg_err give_up(dg_err e, dg_st **st)
{
    dg_st_free(*st);
    *st = NULL;
    return e;
}

/* Read the length field and the JSON header into r->file. The caller frees r->file, even after an error. */
static dg_err read_beginning(reader *r)
{
    const size_t first = r->bytes < 8 ? r->bytes : 8;
    char *file = malloc(8);
    r->file = file;
    if (!file) return dg_fail(DG_DEVICE, "%s: out of memory", r->name);
    dg_err e = dg_read_next(r->st->fd, r->name, file, first);
    if (!e) e = measure(r);
    if (e) return e;
    char *more = realloc(file, 8 + r->header);
    if (!more) return dg_fail(DG_DEVICE, "%s: out of memory", r->name);
    r->file = more;
    return dg_read_next(r->st->fd, r->name, more + 8, r->header);
}

dg_err dg_st_open(const char *path, int flags, dg_st **out)
{
    reader r = {.name = path};
    dg_err e = begin(path, out);
    r.st = *out;
    if (!e) e = dg_read_open(path, largest_file, &r.st->fd, &r.bytes);
    if (!e) e = read_beginning(&r);
    if (!e) e = parse(&r, flags);
    free((char *)r.file);
    if (e == DG_IO) e = dg_file_explain(path, e);
    return e ? give_up(e, out) : DG_OK;
}

dg_err dg_st_load(dg_st *st)
{
    char more;
    dg_err e = take_data(st, NULL);
    if (!e && read(st->fd, &more, 1) > 0) e = dg_fail(DG_IO, "%s: changed while it was being read", st->name);
    close(st->fd);
    st->fd = -1;
    return e;
}

dg_err dg_st_read(const char *path, int flags, dg_st **out)
{
    dg_err e = dg_st_open(path, flags, out);
    if (!e) e = dg_st_load(*out);
    return e ? give_up(e, out) : DG_OK;
}

dg_err dg_st_parse(const void *data, size_t bytes, const char *name, int flags, dg_st **out)
{
    reader r = {.name = name, .file = data, .bytes = bytes};
    dg_err e = begin(name, out);
    r.st = *out;
    if (!e) e = measure(&r);
    if (!e) e = parse(&r, flags);
    if (!e) e = take_data(r.st, r.file + 8 + r.header);
    return e ? give_up(e, out) : DG_OK;
}

void dg_st_free(dg_st *st)
{
    if (!st) return;
    if (st->fd >= 0) close(st->fd);
    cJSON_Delete(st->root);
    free(st->tensor);
    free(st->meta);
    free(st->memory);
    free(st->name);
    free(st);
}

int dg_st_count(const dg_st *st) { return st->tensors; }

const dg_st_tensor *dg_st_at(const dg_st *st, int i) { return &st->tensor[i].t; }

const dg_st_tensor *dg_st_find(const dg_st *st, const char *name)
{
    for (int i = 0; i < st->tensors; i++)
        if (!strcmp(st->tensor[i].t.name, name)) return &st->tensor[i].t;
    for (int i = 0; i < st->tensors && !st->checked; i++)
        if (!strcmp(st->tensor[i].plain, name)) return &st->tensor[i].t;
    return NULL;
}

const char *dg_st_plain(const dg_st *st, int i) { return st->checked ? st->tensor[i].t.name : st->tensor[i].plain; }

const char *dg_st_stored_type(const dg_st *st, int i) { return st->tensor[i].type; }

const char *dg_st_get(const dg_st *st, const char *key)
{
    for (int i = 0; i < st->metas; i++)
        if (!strcmp(st->meta[i].key, key)) return st->meta[i].value;
    return NULL;
}

int dg_st_meta_count(const dg_st *st) { return st->metas; }

dg_st_meta dg_st_meta_at(const dg_st *st, int i) { return st->meta[i]; }
