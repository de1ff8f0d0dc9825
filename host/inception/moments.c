/* Moments of features in .npz files: zip files of NumPy arrays (numpy.lib.format, versions 1 to 3). */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zip.h>

#include "core/base/file_io.h"
#include "host/data/zip.h"
#include "host/inception/fid.h"

enum { HEADER = 128, HEADER_MOST = 1 << 16, MAGIC = 6, MADE_MOST = 100 };
static const char magic[] = "\x93NUMPY";

typedef struct {
    char type[8]; /* "<f8" */
    long dim[2];
    int rank;
    uint8_t *data, *values;
    size_t bytes; /* of the values */
} array;

__attribute__((format(printf, 2, 3), cold)) static dg_err bad(const char *path, const char *format, ...)
{
    char text[400];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    return dg_fail(DG_DATA, DG_MSG("bad-moments", "%s: not moments that pytorch-fid or dcgan wrote: %s"), path, text);
}

static dg_err no_memory(const char *path) { return dg_fail(DG_DEVICE, "%s: out of memory", path); }

static bool parse_shape(const char *at, array *out)
{
    while (out->rank < 2 && *at >= '0' && *at <= '9') {
        char *end;
        out->dim[out->rank++] = strtol(at, &end, 10);
        at = end + strspn(end, ", ");
    }
    return *at == ')';
}

/* Parse a header such as {'descr': '<f8', 'fortran_order': False, 'shape': (2048,), }. The order does not matter,
 * because sigma is symmetric. */
static bool parse(const char *header, array *out)
{
    static const char before_type[] = "'descr': '", before_shape[] = "'shape': (";
    const char *type = strstr(header, before_type), *shape = strstr(header, before_shape);
    if (!type || !shape) return false;
    type += sizeof before_type - 1;
    const size_t n = strcspn(type, "'");
    if (n >= sizeof out->type) return false;
    memcpy(out->type, type, n);
    return parse_shape(shape + sizeof before_shape - 1, out);
}

/* Read array `name`. If the file lacks it, out->data is NULL. The array has at most `most` bytes of values. */
static dg_err read_array(const char *path, dg_zip *z, const char *name, size_t most, array *out)
{
    const dg_zip_file *f = dg_zip_find(z, name);
    int error;
    *out = (array){0};
    if (!f) return DG_OK;
    if (f->bytes < MAGIC + 6 || f->bytes > most + HEADER_MOST) return bad(path, "%s has a wrong size", name);
    const size_t all = (size_t)f->bytes;
    if (!(out->data = malloc(all + 1))) return no_memory(path);
    const dg_err e = dg_zip_read(z, f, out->data, all, &error);
    if (e) return dg_context(e, "%s", path);
    const bool wide = out->data[MAGIC] > 1;
    const size_t length = out->data[8] | (size_t)out->data[9] << 8 |
                          (wide ? (size_t)out->data[10] << 16 | (size_t)out->data[11] << 24 : 0),
                 begin = wide ? 12 : 10;
    if (memcmp(out->data, magic, MAGIC) || length > all - begin) return bad(path, "%s has no header", name);
    char *header = strndup((const char *)out->data + begin, length);
    const bool known = header && parse(header, out);
    free(header);
    out->values = out->data + begin + length;
    out->bytes = all - begin - length;
    return known ? DG_OK : bad(path, "%s has an unknown header", name);
}

/* Convert n values of fp32 or fp64. Returns false if type or number differ, or if a value is not finite. */
static bool convert(const array *a, size_t n, double *out)
{
    const bool narrow = !strcmp(a->type, "<f4");
    if (!a->data || (!narrow && strcmp(a->type, "<f8")) || a->bytes != n * (narrow ? sizeof(float) : sizeof(double)))
        return false;
    if (!narrow) memcpy(out, a->values, a->bytes);
    for (size_t i = 0; i < n; i++) {
        float f;
        if (narrow) memcpy(&f, a->values + i * sizeof f, sizeof f), out[i] = (double)f;
        if (!isfinite(out[i])) return false;
    }
    return true;
}

static dg_err take_moments(const char *path, const array *mu, const array *sigma, dg_fid_set *out)
{
    const long d = out->d;
    if (!mu->data || !sigma->data) return bad(path, "array %s is missing", mu->data ? "sigma" : "mu");
    if (mu->rank != 1 || sigma->rank != 2 || mu->dim[0] != d || sigma->dim[0] != d || sigma->dim[1] != d)
        return bad(path, "it has moments of %ld features, the network has %ld", mu->rank == 1 ? mu->dim[0] : 0, d);
    const size_t n = (size_t)d;
    if (!(out->mean = malloc((n + n * n) * sizeof *out->mean))) return no_memory(path);
    out->cov = out->mean + n;
    if (!convert(mu, n, out->mean) || !convert(sigma, n * n, out->cov))
        return bad(path, "mu and sigma must be finite numbers of type <f8 or <f4");
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++)
            if (!(fabs(out->cov[i * n + k] - out->cov[k * n + i]) <=
                  1e-3 * (1e-6 + fabs(out->cov[i * n + i]) + fabs(out->cov[k * n + k]))))
                return bad(path, "sigma is not symmetric");
    return DG_OK;
}

static dg_err take_origin(const char *path, const array *images, const array *made, const char *want, dg_fid_set *out)
{
    char text[MADE_MOST + 1] = "";
    int64_t count = 0;
    if (images->data && images->bytes == sizeof count && !strcmp(images->type, "<i8"))
        memcpy(&count, images->values, sizeof count);
    if (count > 0 && count <= INT32_MAX) out->images = (int)count;
    if (!made->data) return DG_OK;
    if (made->type[0] != '|' || made->type[1] != 'S' || made->bytes > MADE_MOST) return bad(path, "unknown made_with");
    memcpy(text, made->values, made->bytes);
    if (!strcmp(text, want)) return DG_OK;
    return dg_fail(DG_DATA,
                   DG_MSG("other-moments", "%s: made with %s, but this command uses %s; give another {moments} FILE, "
                                           "which will be written"),
                   path, text, want);
}

dg_err dg_moments_read(const char *path, int d, const char *made_with, dg_fid_set *out)
{
    static const char *const name[] = {"mu.npy", "sigma.npy", "images.npy", "made_with.npy"};
    const size_t n = (size_t)d, most[] = {n * 8, n * n * 8, 8, MADE_MOST};
    array a[4] = {{.rank = 0}};
    dg_zip *z = NULL;
    *out = (dg_fid_set){.d = d};
    dg_err e = dg_zip_open(path, &z);
    for (int i = 0; i < 4 && !e; i++) e = read_array(path, z, name[i], most[i], &a[i]);
    if (!e) e = take_origin(path, &a[2], &a[3], made_with, out);
    if (!e) e = take_moments(path, &a[0], &a[1], out);
    dg_zip_close(z);
    for (int i = 0; i < 4; i++) free(a[i].data);
    return e;
}

static void name_of(const dg_inception *t, char out[MADE_MOST])
{
    snprintf(out, MADE_MOST, "%s, %s", dg_inception_name(t), dg_inception_resize(t));
}

dg_err dg_fid_set_read(const char *path, const dg_inception *t, dg_fid_set *out)
{
    char made[MADE_MOST];
    name_of(t, made);
    return dg_moments_read(path, dg_inception_features(t), made, out);
}

/* Add an array to a zip file; libzip copies nothing, so the caller frees *owned after the zip file is closed. */
static bool add_array(zip_t *z, const char *name, const char *type, const char *shape, const void *values, size_t bytes,
                      char **owned)
{
    char *data = *owned = malloc(HEADER + bytes);
    if (!data) return false;
    memcpy(data, "\x93NUMPY\1\0\x76", 10); /* version 1.0, HEADER - 10 bytes follow */
    const int n = snprintf(data + 10, HEADER - 10, "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", type,
                           shape);
    memset(data + 10 + n, ' ', (size_t)(HEADER - 10 - n));
    data[HEADER - 1] = '\n';
    memcpy(data + HEADER, values, bytes);
    zip_source_t *s = zip_source_buffer(z, data, HEADER + bytes, 0);
    const zip_int64_t at = s ? zip_file_add(z, name, s, ZIP_FL_ENC_UTF_8) : -1;
    if (s && at < 0) zip_source_free(s);
    return at >= 0 && !zip_file_set_dostime(z, (zip_uint64_t)at, 0, 33, 0); /* 1980-01-01: equal bytes at any time */
}

/* Build the zip file in *from, which is kept after the zip file is closed. */
static bool build(zip_source_t *from, const char *made, const dg_fid_set *x, char *owned[4])
{
    char vector[24], matrix[40], type[24];
    const size_t d = (size_t)x->d, length = strlen(made);
    const int64_t images = x->images;
    snprintf(vector, sizeof vector, "%d,", x->d);
    snprintf(matrix, sizeof matrix, "%d, %d", x->d, x->d);
    snprintf(type, sizeof type, "|S%zu", length);
    zip_t *z = zip_open_from_source(from, ZIP_TRUNCATE, NULL);
    if (!z) return false;
    const bool all = add_array(z, "mu.npy", "<f8", vector, x->mean, d * sizeof(double), &owned[0]) &&
                     add_array(z, "sigma.npy", "<f8", matrix, x->cov, d * d * sizeof(double), &owned[1]) &&
                     add_array(z, "images.npy", "<i8", "", &images, sizeof images, &owned[2]) &&
                     add_array(z, "made_with.npy", type, "", made, length, &owned[3]);
    if (all && !zip_close(z)) return true;
    zip_discard(z);
    return false;
}

static dg_err write_from(const char *path, zip_source_t *from)
{
    zip_stat_t s;
    if (zip_source_stat(from, &s) || zip_source_open(from)) return no_memory(path);
    char *all = malloc((size_t)s.size + 1);
    const bool whole = all && zip_source_read(from, all, s.size) == (zip_int64_t)s.size;
    const dg_err e = whole ? dg_write_atomic(path, &(dg_chunk){all, (size_t)s.size}, 1) : no_memory(path);
    zip_source_close(from);
    free(all);
    return e;
}

dg_err dg_moments_write(const char *path, const char *made_with, const dg_fid_set *x)
{
    char *owned[4] = {NULL};
    zip_source_t *from = zip_source_buffer_create(NULL, 0, 0, NULL);
    if (!from) return no_memory(path);
    zip_source_keep(from);
    const dg_err e = build(from, made_with, x, owned) ? write_from(path, from) : no_memory(path);
    zip_source_free(from);
    for (int i = 0; i < 4; i++) free(owned[i]);
    return e;
}

dg_err dg_fid_set_write(const char *path, const dg_inception *t, const dg_fid_set *x)
{
    char made[MADE_MOST];
    name_of(t, made);
    return dg_moments_write(path, made, x);
}
