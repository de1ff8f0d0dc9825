/* Reads the pickles of CIFAR's Python archive without executing anything. The reader accepts the opcodes that these
 * files have, in their order: a dictionary of texts, numbers, lists, and one array of bytes. Everything else is
 * DG_DATA. An opcode may be followed by one that stores its value for later use; no file uses stored values. */
#include "core/base/grow.h"
#include "host/data/dataset_internal.h"
#include "host/data/records.h"

#include <stdlib.h>
#include <string.h>

enum { IMAGE = 3 * 32 * 32, COARSE = 20 };

typedef struct {
    const uint8_t *at;
    size_t bytes;
} text;

typedef struct {
    uint8_t *value;
    int count, room;
} numbers;

typedef struct {
    const uint8_t *data;
    size_t bytes, at;
    text pixels;
    int64_t rows;
    bool by_column;
    numbers labels, fine, coarse;
    char *names; /* one class per line */
    size_t names_bytes;
} reader;

static dg_err ends(const reader *r) { return dg_fail(DG_DATA, "byte %zu: the file ends within its pickle", r->bytes); }

static dg_err unexpected(const reader *r)
{
    if (r->at >= r->bytes) return ends(r);
    return dg_fail(DG_DATA,
                   "byte %zu: opcode %02x, which the pickles of CIFAR do not have here; only the original files of "
                   "CIFAR's Python archive are read",
                   r->at, r->data[r->at]);
}

static bool next_is(const reader *r, char c) { return r->at < r->bytes && r->data[r->at] == (uint8_t)c; }

static bool take(reader *r, char c)
{
    const bool same = next_is(r, c);
    r->at += same;
    return same;
}

static uint64_t little_endian(const uint8_t *p, size_t n)
{
    uint64_t v = 0;
    for (size_t i = n; i-- > 0;) v = v << 8 | p[i];
    return v;
}

/* Skip an opcode that stores the value for later use (BINPUT, LONG_BINPUT). */
static dg_err stored(reader *r)
{
    const size_t n = next_is(r, 'q') ? 2 : next_is(r, 'r') ? 5 : 0;
    if (n > r->bytes - r->at) return ends(r);
    r->at += n;
    return DG_OK;
}

/* Read an opcode with n bytes of its operand. */
static dg_err operand(reader *r, size_t n, uint64_t *out)
{
    if (n > r->bytes - r->at - 1) return ends(r);
    *out = little_endian(r->data + r->at + 1, n);
    r->at += 1 + n;
    return DG_OK;
}

static bool is_number(const reader *r) { return next_is(r, 'K') || next_is(r, 'M') || next_is(r, 'J'); }

/* BININT1, BININT2 or BININT */
static dg_err number(reader *r, int64_t *out)
{
    uint64_t v = 0;
    const bool wide = next_is(r, 'J');
    if (!is_number(r)) return unexpected(r);
    const dg_err e = operand(r, next_is(r, 'K') ? 1 : wide ? 4 : 2, &v);
    *out = wide ? (int32_t)(uint32_t)v : (int64_t)v;
    return e;
}

static bool is_text(const reader *r) { return next_is(r, 'U') || next_is(r, 'T'); }

/* SHORT_BINSTRING or BINSTRING */
static dg_err take_text(reader *r, text *out)
{
    uint64_t n = 0;
    if (!is_text(r)) return unexpected(r);
    const dg_err e = operand(r, next_is(r, 'U') ? 1 : 4, &n);
    if (e) return e;
    if (n > r->bytes - r->at) return ends(r);
    *out = (text){r->data + r->at, (size_t)n};
    r->at += (size_t)n;
    return stored(r);
}

/* Match a sequence of opcodes. In it, PUT is an opcode that may store a value, and INT is a number, which is returned
 * in *out and advances out. */
#define PUT "\xf1"
#define INT "\xf2"
static dg_err sequence(reader *r, const char *s, size_t n, int64_t *out)
{
    for (size_t i = 0; i < n; i++) {
        dg_err e = DG_OK;
        if (s[i] == *PUT) e = stored(r);
        else if (s[i] == *INT) e = number(r, out++);
        else if (!take(r, s[i])) e = unexpected(r);
        if (e) return e;
    }
    return DG_OK;
}
#define SEQUENCE(r, s, out) sequence(r, s, sizeof s - 1, out)

/* The state of the type of the array, whose values do not matter: numbers, a text and NONE. */
static dg_err skip_state(reader *r)
{
    dg_err e = take(r, '(') ? DG_OK : unexpected(r);
    while (!e && !next_is(r, 't')) {
        int64_t v;
        text t;
        if (take(r, 'N')) continue;
        e = is_text(r) ? take_text(r, &t) : number(r, &v);
    }
    return e ? e : SEQUENCE(r, "t" PUT "b", NULL);
}

/* A matrix of bytes, as NumPy stores it */
static dg_err array(reader *r)
{
    static const char begin[] = "cnumpy.core.multiarray\n_reconstruct\n" PUT "cnumpy\nndarray\n" PUT "K\0\x85" PUT
                                "U\1b" PUT "\x87" PUT "R" PUT "(K\1" INT INT "\x86" PUT "cnumpy\ndtype\n" PUT
                                "U\2u1" PUT "K\0K\1\x87" PUT "R" PUT;
    int64_t side[2];
    const size_t at = r->at;
    dg_err e = SEQUENCE(r, begin, side);
    if (!e) e = skip_state(r);
    if (e) return e;
    r->by_column = next_is(r, '\x88');
    if (!take(r, '\x88') && !take(r, '\x89')) return unexpected(r);
    e = take_text(r, &r->pixels);
    if (!e) e = SEQUENCE(r, "t" PUT "b", NULL);
    if (e) return e;
    if (side[0] < 1 || side[0] > DG_FILES_MAX || side[1] != IMAGE || r->pixels.bytes != (size_t)side[0] * IMAGE)
        return dg_fail(DG_DATA, "byte %zu: an array of %lld x %lld with %zu bytes; CIFAR has 1 to %d rows of %d bytes",
                       at, (long long)side[0], (long long)side[1], r->pixels.bytes, DG_FILES_MAX, IMAGE);
    r->rows = side[0];
    return DG_OK;
}

static dg_err no_memory(void) { return dg_fail(DG_DEVICE, "no memory to read a pickle of CIFAR"); }

static dg_err add_number(reader *r, numbers *to, int most)
{
    int64_t v = 0;
    const size_t at = r->at;
    const dg_err e = number(r, &v);
    if (e || !to) return e;
    if (v < 0 || v >= most)
        return dg_fail(DG_DATA, "byte %zu: label %lld; it must be 0 to %d", at, (long long)v, most - 1);
    uint8_t *more = dg_grow(to->value, to->count, &to->room, 1);
    if (!more) return no_memory();
    to->value = more;
    more[to->count++] = (uint8_t)v;
    return DG_OK;
}

static dg_err add_name(reader *r, bool keep)
{
    text t;
    const dg_err e = take_text(r, &t);
    if (e || !keep) return e;
    char *more = realloc(r->names, r->names_bytes + t.bytes + 2);
    if (!more) return no_memory();
    r->names = more;
    memcpy(more + r->names_bytes, t.at, t.bytes);
    for (size_t i = 0; i < t.bytes; i++)
        if (t.at[i] < ' ') more[r->names_bytes + i] = ' ';
    r->names_bytes += t.bytes;
    more[r->names_bytes++] = '\n';
    more[r->names_bytes] = 0;
    return DG_OK;
}

static bool is(const text *t, const char *word) { return t->bytes == strlen(word) && !memcmp(t->at, word, t->bytes); }

static dg_err list(reader *r, const text *key)
{
    const bool names = is(key, "label_names") || is(key, "fine_label_names");
    numbers *to = is(key, "labels")          ? &r->labels
                  : is(key, "fine_labels")   ? &r->fine
                  : is(key, "coarse_labels") ? &r->coarse
                                             : NULL;
    const int most = to == &r->labels ? 10 : to == &r->fine ? 100 : COARSE;
    r->at++;
    dg_err e = stored(r);
    while (!e && take(r, '(')) {
        while (!e && !next_is(r, 'e')) e = is_text(r) ? add_name(r, names) : add_number(r, to, most);
        r->at += !e;
    }
    return e;
}

static dg_err value(reader *r, const text *key)
{
    text t;
    int64_t v;
    if (next_is(r, 'c')) return r->rows ? unexpected(r) : array(r);
    if (next_is(r, ']')) return list(r, key);
    return is_text(r) ? take_text(r, &t) : number(r, &v);
}

static dg_err read_all(reader *r)
{
    dg_err e = SEQUENCE(r, "\x80\2}" PUT "(", NULL);
    while (!e && !next_is(r, 'u')) {
        text key;
        e = take_text(r, &key);
        if (!e) e = value(r, &key);
    }
    if (!e) e = SEQUENCE(r, "u.", NULL);
    if (!e && r->at < r->bytes) e = dg_fail(DG_DATA, "byte %zu: data after the end of the pickle", r->at);
    return e;
}

static void close_reader(reader *r)
{
    free(r->labels.value);
    free(r->fine.value);
    free(r->coarse.value);
    free(r->names);
}

static dg_err to_records(const reader *r, uint8_t **data, size_t *bytes)
{
    const numbers *fine = r->fine.count ? &r->fine : &r->labels;
    const bool hundred = fine == &r->fine;
    const size_t record = IMAGE + (hundred ? 2 : 1), n = (size_t)r->rows;
    if (!n) return dg_fail(DG_DATA, "byte %zu: the pickle ends without an array of images", r->bytes);
    if ((size_t)fine->count != n || (hundred && (size_t)r->coarse.count != n))
        return dg_fail(DG_DATA, "byte %zu: the pickle ends; it has %d labels for %zu images", r->bytes, fine->count, n);
    uint8_t *out = malloc(n * record);
    if (!out) return no_memory();
    for (size_t i = 0; i < n; i++) {
        uint8_t *to = out + i * record;
        if (hundred) *to++ = r->coarse.value[i];
        *to++ = fine->value[i];
        if (!r->by_column) memcpy(to, r->pixels.at + i * IMAGE, IMAGE);
        for (size_t p = 0; p < IMAGE && r->by_column; p++) to[p] = r->pixels.at[p * n + i];
    }
    free(*data);
    *data = out;
    *bytes = n * record;
    return DG_OK;
}

bool dg_cifar_pickled(const uint8_t *head, size_t bytes) { return bytes > 3 && !memcmp(head, "\x80\2}", 3); }

dg_err dg_cifar_unpickle(uint8_t **data, size_t *bytes)
{
    reader r = {.data = *data, .bytes = *bytes};
    if (!dg_cifar_pickled(*data, *bytes)) return DG_OK;
    dg_err e = read_all(&r);
    if (!e) e = to_records(&r, data, bytes);
    close_reader(&r);
    return e;
}

dg_err dg_cifar_unpickle_names(uint8_t **data, size_t *bytes)
{
    reader r = {.data = *data, .bytes = *bytes};
    if (!dg_cifar_pickled(*data, *bytes)) return DG_OK;
    dg_err e = read_all(&r);
    if (!e && !r.names) e = dg_fail(DG_DATA, "byte %zu: the pickle ends without names of classes", r.bytes);
    if (!e) {
        free(*data);
        *data = (uint8_t *)r.names;
        *bytes = r.names_bytes;
        r.names = NULL;
    }
    close_reader(&r);
    return e;
}
