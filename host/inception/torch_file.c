#include "host/inception/torch_file.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/data/zip.h"
#include "host/inception/pickle.h"

enum { TENSORS_MOST = 4096, STORAGES_MOST = 4096, NAME_MOST = 127 };
static const size_t FILE_MOST = (size_t)1 << 30;

typedef struct {
    const char *key;
    size_t key_bytes, bytes;
    const uint8_t *data; /* in the file, or `owned` */
    uint8_t *owned;
} storage;

struct dg_torch {
    const char *path;
    uint8_t *file; /* NULL after all tensors are copied */
    size_t bytes;
    dg_zip *zip;
    uint8_t *pkl;
    dg_pickle pickle;
    storage storage[STORAGES_MOST];
    int storages;
    dg_st_tensor *tensor;
    int tensors;
    size_t copied;
    char sha256[DG_SHA256_TEXT];
};

static const uint8_t magic[] = {0x6c, 0xfc, 0x9c, 0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19};
static const uint8_t legacy[] = {0x80, 2, 0x8a, sizeof magic};

__attribute__((format(printf, 2, 3), cold)) static dg_err bad(const dg_torch *t, const char *format, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    return dg_fail(DG_IO, DG_MSG("bad-torch-file", "%s: not a valid file of torch.save: %s"), t->path, text);
}

static dg_err no_memory(const dg_torch *t) { return dg_fail(DG_DEVICE, "%s: out of memory", t->path); }

bool dg_torch_inside(const char *path)
{
    char head[sizeof legacy] = "";
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    const ssize_t n = fd >= 0 ? dg_read_some(fd, head, sizeof head) : -1;
    if (fd >= 0) close(fd);
    return n == sizeof head && (!memcmp(head, legacy, sizeof legacy) || !memcmp(head, "PK\3\4", 4));
}

/* Bytes of a value by the class of the storage, or 0 if unknown. */
static size_t value_bytes(const dg_pickle_item *class)
{
    static const struct {
        const char *name;
        size_t bytes;
    } known[] = {{"torch\nFloatStorage", 4},    {"torch\nDoubleStorage", 8}, {"torch\nHalfStorage", 2},
                 {"torch\nBFloat16Storage", 2}, {"torch\nLongStorage", 8},   {"torch\nIntStorage", 4},
                 {"torch\nShortStorage", 2},    {"torch\nCharStorage", 1},   {"torch\nByteStorage", 1},
                 {"torch\nBoolStorage", 1}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (dg_pickle_is(class, DG_PICKLE_NAME, known[i].name)) return known[i].bytes;
    return 0;
}

static storage *find(dg_torch *t, const char *key, int bytes)
{
    for (int i = 0; i < t->storages; i++)
        if (t->storage[i].key_bytes == (size_t)bytes && !memcmp(t->storage[i].key, key, (size_t)bytes))
            return &t->storage[i];
    return NULL;
}

/* List the storages of the pickle: ("storage", class, key, device, count), in old files also a view, None. */
static dg_err list_storages(dg_torch *t)
{
    const dg_pickle *p = &t->pickle;
    for (int i = 0; i < p->items; i++) {
        const dg_pickle_item *x = &p->item[i], *key = dg_pickle_child(p, x, 2), *count = dg_pickle_child(p, x, 4);
        if (x->kind != DG_PICKLE_STORAGE) continue;
        const size_t each = value_bytes(dg_pickle_child(p, x, 1));
        if (!dg_pickle_is(dg_pickle_child(p, x, 0), DG_PICKLE_TEXT, "storage") || key->kind != DG_PICKLE_TEXT ||
            key->count > NAME_MOST || count->kind != DG_PICKLE_INT || !each || count->number < 0 ||
            (uint64_t)count->number > FILE_MOST || dg_pickle_child(p, x, 5)->kind != DG_PICKLE_NONE)
            return bad(t, "unknown storage");
        const size_t bytes = each * (size_t)count->number;
        const storage *old = find(t, key->text, key->count);
        if (old && old->bytes != bytes) return bad(t, "a storage has two sizes");
        if (old) continue;
        if (t->storages == STORAGES_MOST) return bad(t, "more than %d storages", STORAGES_MOST);
        t->storage[t->storages++] = (storage){.key = key->text, .key_bytes = (size_t)key->count, .bytes = bytes};
    }
    return DG_OK;
}

/* The storages follow the list of their keys: for each, the number of values (8 bytes), then the values. */
static dg_err find_legacy_data(dg_torch *t, size_t at, int keys)
{
    const dg_pickle_item *list = &t->pickle.item[keys];
    if (list->kind != DG_PICKLE_LIST) return bad(t, "no list of storages");
    for (int i = 0; i < list->count; i++) {
        const dg_pickle_item *key = dg_pickle_child(&t->pickle, list, i);
        storage *s = key->kind == DG_PICKLE_TEXT ? find(t, key->text, key->count) : NULL;
        if (!s || s->data) return bad(t, "storage %d of %d is unknown", i + 1, list->count);
        if (t->bytes - at < 8 || t->bytes - at - 8 < s->bytes) return bad(t, "it ends within storage %d", i + 1);
        s->data = t->file + at + 8;
        at += 8 + s->bytes;
    }
    return DG_OK;
}

static dg_err read_legacy(dg_torch *t)
{
    size_t at = 0;
    int top = -1;
    dg_err e = DG_OK;
    for (int i = 0; i < 5 && !e; i++) { /* magic number, protocol, machine, state dict, keys of the storages */
        e = dg_pickle_read(&t->pickle, t->file, t->bytes, &at, &top);
        const dg_pickle_item *x = e ? NULL : &t->pickle.item[top];
        if (!e && !i && (x->kind != DG_PICKLE_INT || x->count != sizeof magic || memcmp(x->text, magic, sizeof magic)))
            e = bad(t, "no magic number");
    }
    if (!e) e = list_storages(t);
    return e ? e : find_legacy_data(t, at, top);
}

static dg_err read_entry(dg_torch *t, const char *name, size_t name_bytes, const char *folder, size_t folder_bytes,
                         size_t want, uint8_t **out, size_t *bytes)
{
    char path[512];
    int error;
    snprintf(path, sizeof path, "%.*s/%.*s", (int)folder_bytes, folder, (int)name_bytes, name);
    const dg_zip_file *f = dg_zip_find(t->zip, path);
    if (!f || f->bytes > t->bytes || (want && f->bytes != want)) /* torch.save compresses nothing */
        return bad(t, "%s %s", path, f ? "has a wrong size" : "is missing");
    *bytes = (size_t)f->bytes;
    if (!(*out = malloc(*bytes + 1))) return no_memory(t);
    return dg_context(dg_zip_read(t->zip, f, *out, *bytes, &error), "%s", t->path);
}

/* Find the folder of data.pkl. Returns its name, of *bytes bytes, or NULL. */
static const char *find_folder(const dg_zip *z, size_t *bytes)
{
    long n;
    const dg_zip_file *file = dg_zip_files(z, &n);
    for (long i = 0; i < n; i++) {
        const char *slash = strrchr(file[i].name, '/');
        if (!slash || strcmp(slash, "/data.pkl") || slash - file[i].name > 255) continue;
        *bytes = (size_t)(slash - file[i].name);
        return file[i].name;
    }
    return NULL;
}

static dg_err read_zip(dg_torch *t)
{
    int top;
    size_t bytes = 0, at = 0, length = 0;
    dg_err e = dg_zip_open(t->path, &t->zip);
    const char *folder = e ? NULL : find_folder(t->zip, &length);
    if (!e)
        e = folder ? read_entry(t, "data.pkl", 8, folder, length, 0, &t->pkl, &bytes)
                   : bad(t, "a zip file without data.pkl");
    if (!e) e = dg_pickle_read(&t->pickle, t->pkl, bytes, &at, &top);
    if (!e) e = list_storages(t);
    for (int i = 0; i < t->storages && !e; i++) {
        storage *s = &t->storage[i];
        char name[NAME_MOST + 8];
        const int n = snprintf(name, sizeof name, "data/%.*s", (int)s->key_bytes, s->key);
        if (!s->bytes) continue;
        e = read_entry(t, name, (size_t)n, folder, length, s->bytes, &s->owned, &bytes);
        s->data = s->owned;
    }
    return e == DG_DATA ? DG_IO : e;
}

/* Set shape and data of a contiguous fp32 tensor: (storage, offset, size, stride ...). */
static dg_err add_tensor(dg_torch *t, const dg_pickle_entry *entry)
{
    const dg_pickle *p = &t->pickle;
    const dg_pickle_item *x = &p->item[entry->tensor], *from = dg_pickle_child(p, x, 0),
                         *offset = dg_pickle_child(p, x, 1), *size = dg_pickle_child(p, x, 2),
                         *stride = dg_pickle_child(p, x, 3);
    dg_st_tensor *o = &t->tensor[t->tensors];
    if (from->kind != DG_PICKLE_STORAGE || offset->kind != DG_PICKLE_INT || size->kind != DG_PICKLE_LIST ||
        stride->kind != DG_PICKLE_LIST || size->count != stride->count || size->count > 8)
        return bad(t, "unknown tensor");
    if (!dg_pickle_is(dg_pickle_child(p, from, 1), DG_PICKLE_NAME, "torch\nFloatStorage")) return DG_OK;
    *o = (dg_st_tensor){.type = DG_F32, .rank = size->count};
    snprintf(o->name, sizeof o->name, "%.*s", (int)entry->bytes, entry->text);
    const dg_pickle_item *key = dg_pickle_child(p, from, 2);
    const storage *s = find(t, key->text, key->count);
    int64_t values = 1;
    for (int i = o->rank; i-- > 0;) {
        const dg_pickle_item *n = dg_pickle_child(p, size, i), *apart = dg_pickle_child(p, stride, i);
        if (n->kind != DG_PICKLE_INT || apart->kind != DG_PICKLE_INT || n->number < 0 || n->number > INT32_MAX)
            return bad(t, "tensor %s: invalid shape", o->name);
        if (n->number > 1 && apart->number != values) return bad(t, "tensor %s: not contiguous", o->name);
        o->dim[i] = n->number;
        if (__builtin_mul_overflow(values, n->number, &values)) values = INT64_MAX;
    }
    const int64_t room = (int64_t)(s->bytes / sizeof(float));
    if (offset->number < 0 || offset->number > room || values > room - offset->number || (values && !s->data))
        return bad(t, "tensor %s: its data is outside of the file", o->name);
    o->bytes = (size_t)values * sizeof(float);
    if (o->bytes > 2 * t->bytes - t->copied) return bad(t, "its tensors have more than twice its bytes");
    t->copied += o->bytes;
    float *data = malloc(o->bytes + 1);
    if (!data) return no_memory(t);
    if (values) memcpy(data, s->data + (size_t)offset->number * sizeof(float), o->bytes);
    o->data = data;
    t->tensors++;
    return DG_OK;
}

static dg_err add_tensors(dg_torch *t)
{
    const dg_pickle *p = &t->pickle;
    dg_err e = DG_OK;
    if (p->entries > TENSORS_MOST) return bad(t, "more than %d tensors", TENSORS_MOST);
    if (!(t->tensor = calloc((size_t)p->entries + 1, sizeof *t->tensor))) return no_memory(t);
    for (int i = 0; i < p->entries && !e; i++) {
        const dg_pickle_entry *x = &p->entry[i];
        if (x->bytes && x->bytes <= NAME_MOST && !memchr(x->text, 0, x->bytes)) e = add_tensor(t, x);
    }
    return e;
}

/* Free what only reading needs. */
static void let_go(dg_torch *t)
{
    for (int i = 0; i < t->storages; i++) free(t->storage[i].owned);
    t->storages = 0;
    dg_pickle_free(&t->pickle);
    t->pickle = (dg_pickle){0};
    dg_zip_close(t->zip);
    t->zip = NULL;
    free(t->pkl);
    free(t->file);
    t->pkl = t->file = NULL;
}

dg_err dg_torch_read(const char *path, dg_torch **out)
{
    dg_torch *t = *out = calloc(1, sizeof *t);
    void *file = NULL;
    dg_sha256 hash;
    if (!t) return dg_fail(DG_DEVICE, "%s: out of memory", path);
    t->path = t->pickle.path = path;
    dg_err e = dg_read_file(path, FILE_MOST, &file, &t->bytes);
    t->file = file;
    if (!e) {
        dg_sha256_begin(&hash);
        dg_sha256_add(&hash, t->file, t->bytes);
        dg_sha256_end(&hash, t->sha256);
        e = t->bytes > 4 && !memcmp(t->file, legacy, sizeof legacy) ? read_legacy(t) : read_zip(t);
    }
    if (!e) e = add_tensors(t);
    let_go(t);
    return e;
}

void dg_torch_free(dg_torch *t)
{
    if (!t) return;
    for (int i = 0; i < t->tensors; i++) free((void *)t->tensor[i].data);
    free(t->tensor);
    free(t);
}

const char *dg_torch_sha256(const dg_torch *t) { return t->sha256; }
int dg_torch_count(const dg_torch *t) { return t->tensors; }
const dg_st_tensor *dg_torch_at(const dg_torch *t, int i) { return &t->tensor[i]; }
