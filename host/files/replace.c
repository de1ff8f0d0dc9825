#include "host/files/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/files/made.h"
#include "host/files/safetensors.h"

static bool begins(const void *head, size_t bytes, const char *text)
{
    const size_t n = strlen(text);
    return bytes >= n && !memcmp(head, text, n);
}

/* Returns the address of the closing quote of a JSON string, or `end`. `at` is the address after the opening quote. */
static const char *end_of_text(const char *at, const char *end)
{
    while (at < end && *at != '"') at += *at == '\\' && end - at > 1 ? 2 : 1;
    return at < end ? at : end;
}

/* Find the value of a metadata key in a safetensors header written by dcgan, which begins with the metadata. */
static const char *find_meta(const void *head, size_t bytes, const char *key, size_t *n)
{
    static const char before[] = "{\"__metadata__\":{";
    const char *at = head, *end = at + bytes;
    if (bytes < 8 || !begins(at + 8, bytes - 8, before)) return NULL;
    at += 8 + sizeof before - 1;
    while (end - at > 1 && *at == '"') {
        const char *name = at + 1, *stop = end_of_text(name, end);
        if (end - stop < 3 || memcmp(stop, "\":\"", 3) != 0) return NULL;
        const char *value = stop + 3, *last = end_of_text(value, end);
        if ((size_t)(stop - name) == strlen(key) && !memcmp(name, key, (size_t)(stop - name))) {
            *n = (size_t)(last - value);
            return value;
        }
        at = last + 1;
        if (end - at < 1 || *at != ',') return NULL;
        at++;
    }
    return NULL;
}

static bool meta_is(const void *head, size_t bytes, const char *key, const char *value)
{
    size_t n;
    const char *at = find_meta(head, bytes, key, &n);
    return at && n == strlen(value) && !memcmp(at, value, n);
}

static bool is_sample(const void *head, size_t bytes)
{
    return dg_png_says(head, bytes, "Software", "dcgan ") && dg_made_image(head, bytes);
}

static bool is_image(const void *head, size_t bytes) { return dg_png_says(head, bytes, "Software", "dcgan "); }

static bool is_gif(const void *head, size_t bytes) { return dg_gif_says(head, bytes, "dcgan "); }

static bool is_import(const void *head, size_t bytes)
{
    return meta_is(head, bytes, "format", DG_CHECKPOINT_FORMAT) && meta_is(head, bytes, "step", "0");
}

static bool is_import_of_classifier(const void *head, size_t bytes)
{
    size_t n;
    return is_import(head, bytes) && find_meta(head, bytes, "classes", &n);
}

/* A kind of file is detected by a function, by the first bytes or by safetensors metadata. The first matching row is
 * used. */
static const struct {
    dg_made kind;
    const char *name;
    bool (*is)(const void *head, size_t bytes);
    const char *begin, *format;
} table[] = {
    {DG_MADE_SAMPLE, "a sample", is_sample, NULL, NULL},
    {DG_MADE_IMAGE, "an image", is_image, NULL, NULL},
    {DG_MADE_GIF, "a GIF", is_gif, NULL, NULL},
    {DG_MADE_PAGE, "a report", NULL,
     "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"generator\" "
     "content=\"dcgan ",
     NULL},
    {DG_MADE_TUNING, "a tuning file", NULL, "; dcgan tune", NULL},
    {DG_MADE_CACHE, "an image cache", NULL, "dcgan-cache-", NULL},
    {DG_MADE_ONNX, "an ONNX file", NULL, "\010\007\022\005dcgan", NULL},
    {DG_MADE_HTML, "a generator in HTML", NULL,
     "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"dcgan-generator\" "
     "content=\"dcgan ",
     NULL},
    {DG_MADE_C, "a generator in C", NULL, "/* A generator, written by dcgan ", NULL},
    {DG_MADE_GENERATOR, "an exported generator", NULL, NULL, DG_GENERATOR_FORMAT},
    {DG_MADE_CLASSIFIER, "an exported classifier", NULL, NULL, DG_CLASSIFIER_FORMAT},
    {DG_MADE_NETWORK, "an exported network", NULL, NULL, DG_NETWORK_FORMAT},
    {DG_MADE_IMPORT_CLASSIFIER, "an imported checkpoint of a classifier", is_import_of_classifier, NULL, NULL},
    {DG_MADE_IMPORT, "an imported checkpoint", is_import, NULL, NULL},
    {DG_MADE_CHECKPOINT, "a checkpoint of a run", NULL, NULL, DG_CHECKPOINT_FORMAT},
    {DG_MADE_Z, "a file of latent vectors", NULL, NULL, DG_Z_FORMAT},
    {DG_MADE_INCEPTION, "converted Inception weights", NULL, NULL, DG_INCEPTION_FORMAT},
};
enum { ROWS = sizeof table / sizeof *table };

dg_made dg_made_kind(const void *head, size_t bytes)
{
    if (!bytes) return DG_MADE_EMPTY;
    if (bytes > DG_MADE_BYTES) bytes = DG_MADE_BYTES;
    for (int i = 0; i < ROWS; i++)
        if (table[i].is       ? table[i].is(head, bytes)
            : table[i].format ? meta_is(head, bytes, "format", table[i].format)
                              : begins(head, bytes, table[i].begin))
            return table[i].kind;
    return DG_MADE_BY_OTHERS;
}

static const char *name_of(dg_made kind)
{
    for (int i = 0; i < ROWS; i++)
        if (table[i].kind == kind) return table[i].name;
    return "another file";
}

static const dg_replacing *replacing;

void dg_set_replacing(const dg_replacing *r) { replacing = r; }

bool dg_replaces_all(void) { return replacing && replacing->force; }

static dg_err refused(const char *path, const char *why)
{
    char text[80], option[100];
    snprintf(text, sizeof text, "{%.60s}", replacing && replacing->option ? replacing->option(path) : "out");
    return dg_fail(DG_USAGE, "%s: %s; choose another %s or add {force}", path, why,
                   dg_named_settings(option, sizeof option, text));
}

/* Samples and other images may replace each other. */
static dg_made kin(dg_made kind) { return kind == DG_MADE_SAMPLE ? DG_MADE_IMAGE : kind; }

static dg_err judge(int old, const char *path, dg_made new_kind)
{
    struct stat s;
    if (dg_replaces_all()) return DG_OK;
    uint8_t *head = malloc(DG_MADE_BYTES);
    if (!head) return dg_fail(DG_DEVICE, "%s: out of memory", path);
    ssize_t n = 0, more = 1;
    while (n < DG_MADE_BYTES && more > 0) {
        more = pread(old, head + n, (size_t)(DG_MADE_BYTES - n), n);
        if (more < 0 && errno == EINTR) more = 1;
        else n += more > 0 ? more : 0;
    }
    const int error = more < 0 || fstat(old, &s) ? errno : 0;
    const dg_made kind = error ? DG_MADE_BY_OTHERS : dg_made_kind(head, (size_t)n);
    free(head);
    if (error) return dg_fail(DG_IO, "%s: exists and cannot be read: %s", path, strerror(error));
    if (kind == DG_MADE_EMPTY) return DG_OK;
    if (kind == DG_MADE_BY_OTHERS) return refused(path, DG_MSG("foreign-file", "exists and was not made by dcgan"));
    if (replacing && replacing->is_input && replacing->is_input(path, &s, kind))
        return refused(path, DG_MSG("output-is-input", "exists and is read by this command"));
    if (new_kind == DG_MADE_EMPTY || kin(kind) == kin(new_kind)) return DG_OK;
    char why[200];
    snprintf(why, sizeof why, DG_MSG("other-kind", "exists and is %s, not %s"), name_of(kind), name_of(new_kind));
    return refused(path, why);
}

dg_err dg_may_replace(const char *path, dg_made kind)
{
    struct stat s;
    if (dg_replaces_all() || stat(path, &s) || !S_ISREG(s.st_mode)) return DG_OK; /* the write reports errors */
    const int old = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (old < 0 && errno == ENOENT) return DG_OK;
    if (old < 0) return dg_fail(DG_IO, "%s: exists and cannot be read: %s", path, strerror(errno));
    const dg_err e = judge(old, path, kind);
    close(old);
    return e;
}

dg_err dg_may_replace_by(int old, const char *path, const dg_chunk *piece, int pieces)
{
    if (dg_replaces_all()) return DG_OK;
    char *head = malloc(DG_MADE_BYTES);
    size_t n = 0;
    if (!head) return dg_fail(DG_DEVICE, "%s: out of memory", path);
    for (int i = 0; i < pieces && n < DG_MADE_BYTES; i++) {
        const size_t more = piece[i].bytes < DG_MADE_BYTES - n ? piece[i].bytes : DG_MADE_BYTES - n;
        if (more) memcpy(head + n, piece[i].data, more);
        n += more;
    }
    const dg_made kind = dg_made_kind(head, n);
    free(head);
    return judge(old, path, kind);
}
