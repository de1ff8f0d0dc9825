/* Reads NumPy arrays of images and labels (numpy.lib.format). The header is a Python dictionary with three keys, such
 * as
 * {'descr': '|u1', 'fortran_order': False, 'shape': (60000, 28, 28), }. Messages begin with "byte N: ". */
#include "core/base/bytes.h"
#include "host/data/dataset_internal.h"
#include "host/data/records.h"

#include <ctype.h>
#include <string.h>

enum { MAGIC = 6, SIDE_MOST = 4096 };
static const char magic[] = "\x93NUMPY";

typedef struct {
    const char *at, *end;
} reader;

static void blanks(reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\n')) r->at++;
}

static bool take(reader *r, const char *word)
{
    const size_t n = strlen(word);
    if ((size_t)(r->end - r->at) < n || memcmp(r->at, word, n) != 0) return false;
    r->at += n;
    blanks(r);
    return true;
}

static bool take_type(reader *r, dg_npy *out)
{
    size_t n = 0;
    if (!take(r, "'")) return false;
    while (r->at < r->end && *r->at != '\'' && n + 1 < sizeof out->type) out->type[n++] = *r->at++;
    out->type[n] = 0;
    return take(r, "'");
}

/* Python 2 on Windows writes a number as 60000L. */
static bool take_shape(reader *r, dg_npy *out)
{
    if (!take(r, "(")) return false;
    for (out->rank = 0; !take(r, ")"); out->rank++) {
        size_t v = 0;
        if (out->rank == DG_NPY_RANK || r->at == r->end || !isdigit((unsigned char)*r->at)) return false;
        for (; r->at < r->end && isdigit((unsigned char)*r->at) && v < (size_t)1 << 40; r->at++)
            v = 10 * v + (size_t)(*r->at - '0');
        out->dim[out->rank] = v;
        (void)take(r, "L");
        blanks(r);
        if (!take(r, ",") && (r->at == r->end || *r->at != ')')) return false;
    }
    return true;
}

static bool take_pair(reader *r, dg_npy *out, unsigned *seen)
{
    const int key = take(r, "'descr'") ? 0 : take(r, "'fortran_order'") ? 1 : take(r, "'shape'") ? 2 : -1;
    if (key < 0 || *seen >> key & 1 || !take(r, ":")) return false;
    *seen |= 1U << key;
    if (key == 0) return take_type(r, out);
    if (key == 2) return take_shape(r, out);
    out->by_column = take(r, "True");
    return out->by_column || take(r, "False");
}

static bool take_header(reader *r, dg_npy *out)
{
    unsigned seen = 0;
    blanks(r);
    if (!take(r, "{")) return false;
    while (!take(r, "}")) {
        if (!take_pair(r, out, &seen)) return false;
        if (!take(r, ",") && (r->at == r->end || *r->at != '}')) return false;
    }
    return seen == 7 && r->at == r->end;
}

dg_err dg_npy_head(const uint8_t *data, size_t bytes, dg_npy *out)
{
    *out = (dg_npy){.rank = 0};
    if (bytes < MAGIC + 6 || memcmp(data, magic, MAGIC) != 0) return dg_fail(DG_DATA, "byte 0: not a NumPy array");
    const bool wide = data[MAGIC] > 1;
    const size_t begin = wide ? 12 : 10;
    const size_t length = data[8] | (size_t)data[9] << 8 | (wide ? (size_t)data[10] << 16 | (size_t)data[11] << 24 : 0);
    if (data[MAGIC] < 1 || data[MAGIC] > 3 || length > bytes - begin)
        return dg_fail(DG_DATA, "byte %d: version %d, or a header of %zu bytes, is not supported", MAGIC, data[MAGIC],
                       length);
    reader r = {(const char *)data + begin, (const char *)data + begin + length};
    out->begin = begin + length;
    if (take_header(&r, out)) return DG_OK;
    return dg_fail(DG_DATA, "byte %td: the header is not a dictionary of descr, fortran_order and shape",
                   (const uint8_t *)r.at - data);
}

/* Check the shape, and that the file has all values. */
static dg_err check(const dg_npy *a, size_t bytes, const char *what, size_t each, bool shaped)
{
    size_t values = each;
    if (!shaped || a->by_column || !a->dim[0] || a->dim[0] > DG_FILES_MAX)
        return dg_fail(DG_DATA,
                       "byte 0: an array of type %s and %d dimensions (%zu, %zu, %zu, %zu)%s is not an array of %s",
                       a->type, a->rank, a->dim[0], a->dim[1], a->dim[2], a->dim[3],
                       a->by_column ? " in Fortran order" : "", what);
    for (int i = 0; i < a->rank; i++) values *= a->dim[i]; /* at most 16 Mi x 4096 x 4096 x 3 */
    if (bytes - a->begin != values)
        return dg_fail(DG_DATA, "byte %zu: the file ends; its header declares %zu bytes", bytes, a->begin + values);
    return DG_OK;
}

dg_err dg_npy_images(const uint8_t *data, size_t bytes, dg_records *out)
{
    dg_npy a;
    dg_err e = dg_npy_head(data, bytes, &a);
    const size_t H = a.dim[1], W = a.dim[2], C = a.rank == 4 ? a.dim[3] : 1;
    const bool shaped = (a.rank == 3 || a.rank == 4) && !strcmp(a.type, "|u1") && H && W && H <= SIDE_MOST &&
                        W <= SIDE_MOST && (C == 1 || C == 3);
    if (!e)
        e = check(&a, bytes, "images, which has type |u1 and shape (count, height, width) or (.., 1 or 3)", 1, shaped);
    if (e) return e;
    *out = (dg_records){.pixels = data + a.begin,
                        .stride = H * W * C,
                        .count = (int)a.dim[0],
                        .width = (int)W,
                        .height = (int)H,
                        .channels = (int)C,
                        .interleaved = true,
                        .kind = DG_KIND_NPY};
    return DG_OK;
}

/* Check that all other bytes of each value are zero. */
static dg_err check_labels(const uint8_t *values, size_t n, size_t each, size_t low, size_t begin)
{
    for (size_t i = 0; i < n * each; i++)
        if (values[i] && i % each != low)
            return dg_fail(DG_DATA, "byte %zu: a label must be 0 to 255", begin + i / each * each);
    return DG_OK;
}

dg_err dg_npy_labels(const uint8_t *data, size_t bytes, dg_records *out)
{
    dg_npy a;
    dg_err e = dg_npy_head(data, bytes, &a);
    const char *size = strchr("1248", a.type[2] ? a.type[2] : '!');
    const size_t each = size ? (size_t)(*size - '0') : 1, low = a.type[0] == '>' ? each - 1 : 0;
    const bool number = size && strchr("|<>", a.type[0]) && strchr("iu", a.type[1]) && !a.type[3];
    if (!e)
        e = check(&a, bytes, "labels, which are integers", each,
                  number && (a.rank == 1 || (a.rank == 2 && a.dim[1] == 1)));
    if (!e) e = check_labels(data + a.begin, a.dim[0], each, low, a.begin);
    if (!e && a.dim[0] != (size_t)out->count)
        e = dg_fail(DG_DATA, "byte 0: %zu labels for %d images", a.dim[0], out->count);
    if (e) return e;
    out->label = data + a.begin + low;
    out->label_stride = each;
    return DG_OK;
}
