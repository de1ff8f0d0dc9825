#include "host/net/model.h"
#include "host/data/sides.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/file_io.h"
#include "host/net/model_read_internal.h"

struct dg_model_file {
    const char *name, *text;
};
extern const struct dg_model_file dg_model_files[];

static dg_err check_text(const char *text, const char *where)
{
    if (strlen(text) >= DG_MODEL_TEXT_MAX)
        return dg_fail(DG_USAGE, "%s: too large for a model file (more than %d bytes)", where, DG_MODEL_TEXT_MAX - 1);
    int line = 1;
    for (const char *s = text; *s; line++) {
        const size_t n = strcspn(s, "\n");
        if (n > 150) return dg_fail(DG_USAGE, "%s:%d: line too long (%zu characters, at most 150)", where, line, n);
        s += n + (s[n] != 0);
    }
    return DG_OK;
}

dg_err dg_model_parse(const char *text, const char *where, dg_model *out)
{
    memset(out, 0, sizeof *out);
    dg_printable(out->where, sizeof out->where, where);
    dg_err e = check_text(text, out->where);
    if (e) return e;
    dg_model_text *t = calloc(1, sizeof *t);
    if (!t) return dg_fail(DG_DEVICE, "%s: out of memory", out->where);
    t->rest = text;
    t->where = out->where;
    t->m = out;
    e = dg_model_sections(t);
    if (!e) e = dg_model_layers(t);
    if (!e) memcpy(out->text, text, strlen(text) + 1);
    free(t);
    return e;
}

const char *dg_model_builtin(int i)
{
    for (int k = 0; k <= i; k++)
        if (!dg_model_files[k].name) return NULL;
    return dg_model_files[i].name;
}

static void put_layer(char *out, size_t *at, const char *op, char net, int i, int filters, dg_size kernel, int stride,
                      const char *norm, const char *act)
{
    char side[DG_SIZE_TEXT];
    int n = snprintf(out + *at, DG_MODEL_TEXT_MAX - *at,
                     "[%c.%d]\nop = %s\nfilters = %d\nkernel = %s\nstride = %d\npad = %d\nnorm = %s\nact = %s\n", net,
                     i, op, filters, dg_size_text(kernel, side), stride, stride - 1, norm, act);
    *at += n > 0 ? (size_t)n : 0;
}

static dg_err refuse_size(dg_size size)
{
    char is[DG_SIZE_TEXT], nearest[DG_SIZE_TEXT];
    dg_size_text(size, is);
    dg_size_text(dg_model_size(size), nearest);
    if (dg_is_square(size))
        return dg_fail(DG_USAGE,
                       DG_MSG("model-size",
                              "size %s: must be 4, 5, 6 or 7 times a power of two, from %d to %d; use %s"),
                       is, DG_SIDE_LEAST, DG_SIDE_MOST, nearest);
    return dg_fail(DG_USAGE,
                   DG_MSG("model-size-rectangle",
                          "size %s: the shorter side must be 4, 5, 6 or 7 times a power of two, and the longer side a "
                          "multiple of this power, both from %d to %d; use %s"),
                   is, DG_SIDE_LEAST, DG_SIDE_MOST, nearest);
}

dg_err dg_model_stock(char *out, const char *name, dg_size size, int channels, int latent, int ngf, int ndf)
{
    dg_size first;
    const int depth = dg_size_halvings(size, &first) - 1;
    char text[DG_SIZE_TEXT];
    if (depth < 0) return refuse_size(size);
    dg_size_text(size, text);
    if (ngf < 1 || ndf < 1 || ngf > (16384 >> depth) || ndf > (16384 >> depth))
        return dg_fail(DG_USAGE, "widths %d and %d: must be from 1 to %d for size %s", ngf, ndf, 16384 >> depth, text);
    size_t at = (size_t)snprintf(out, DG_MODEL_TEXT_MAX, "[model]\nname = %s\nsize = %s\nchannels = %d\nlatent = %d\n",
                                 name, text, channels, latent);
    const dg_size four = dg_square(4);
    for (int i = 0; i <= depth; i++)
        put_layer(out, &at, "conv_transpose", 'G', i + 1, ngf << (depth - i), i ? four : first, i ? 2 : 1, "batch",
                  "relu");
    put_layer(out, &at, "conv_transpose", 'G', depth + 2, channels, four, 2, "none", "tanh");
    for (int i = 0; i <= depth; i++)
        put_layer(out, &at, "conv", 'D', i + 1, ndf << i, four, 2, i ? "batch" : "none", "leaky");
    put_layer(out, &at, "conv", 'D', depth + 2, 1, first, 1, "none", "none");
    return DG_OK;
}

/* Parse a name such as "dcgan-28x1" (family dcgan, size 28, 1 channel) or "dcgan-64x96x3" (64 pixels wide, 96 high). */
static bool names_shape(const char *name, char family[16], dg_size *size, int *channels)
{
    const size_t n = strcspn(name, "-"), x = strlen(name);
    char shape[DG_SIZE_TEXT];
    if (n > 15 || x < n + 4 || x - n > DG_SIZE_TEXT || name[x - 2] != 'x' || name[x - 1] < '0' || name[x - 1] > '9')
        return false;
    snprintf(family, 16, "%.*s", (int)n, name);
    snprintf(shape, sizeof shape, "%.*s", (int)(x - n - 3), name + n + 1);
    const char *end = dg_size_parse(shape, size);
    if (!end || *end) return false;
    *channels = name[x - 1] - '0';
    return true;
}

static dg_err builtin_text(const char *name, char text[DG_MODEL_TEXT_MAX], bool *known)
{
    dg_size size;
    int channels;
    char family[16];
    *known = true;
    for (int i = 0; dg_model_files[i].name; i++)
        if (!strcmp(name, dg_model_files[i].name)) {
            snprintf(text, DG_MODEL_TEXT_MAX, "%s", dg_model_files[i].text);
            return DG_OK;
        }
    *known = names_shape(name, family, &size, &channels) &&
             (!strcmp(family, "dcgan") || dg_model_family(text, family, name, dg_square(DG_SIDE_LEAST), channels));
    if (!*known) return DG_OK;
    const dg_err e = dg_model_stock(text, name, size, channels, 100, 32, 32);
    if (!e) dg_model_family(text, family, name, size, channels);
    return e;
}

static const dg_norm variants[] = {DG_NORM_SPECTRAL, DG_NORM_NONE};

/* Returns the length of a model name up to its suffix -spectral, -nonorm or -Nclasses; 0: no suffix. Set *classes to N
 * or 0, and *norm to the norm of D. */
static size_t split_name(const char *name, int *classes, dg_norm *norm)
{
    static const char word[] = "classes";
    const size_t n = strlen(name), words = sizeof word - 1;
    *classes = 0;
    for (size_t k = 0; k < sizeof variants / sizeof *variants; k++) {
        const size_t plain = dg_model_plain_length(name, *norm = variants[k]);
        if (plain < n) return plain;
    }
    size_t at = n > words && !strcmp(name + n - words, word) ? n - words : 0;
    const size_t end = at;
    while (at && name[at - 1] >= '0' && name[at - 1] <= '9') at--;
    if (at < 2 || at == end || end - at > 5 || name[at - 1] != '-' || name[at] == '0') return 0;
    *classes = (int)strtol(name + at, NULL, 10);
    return at - 1;
}

static dg_err named_text(const char *name, char text[DG_MODEL_TEXT_MAX], bool *known)
{
    char plain[64];
    int classes;
    dg_norm norm;
    const size_t n = split_name(name, &classes, &norm);
    dg_err e = builtin_text(name, text, known);
    if (e || *known || !n || n >= sizeof plain) return e;
    snprintf(plain, sizeof plain, "%.*s", (int)n, name);
    char *before = malloc(DG_MODEL_TEXT_MAX);
    if (!before) return dg_fail(DG_DEVICE, "out of memory");
    e = named_text(plain, before, known);
    if (!e && *known && classes) e = dg_model_reclassed(before, name, classes, text);
    else if (!e && *known) e = dg_model_norm_d(before, name, norm, text);
    free(before);
    return e;
}

bool dg_model_name_classes(const char *name, int classes, char out[64])
{
    bool builtin = false;
    for (int i = 0; dg_model_files[i].name; i++) builtin |= !strcmp(name, dg_model_files[i].name);
    snprintf(out, 64, "%s-%dclasses", name, classes); /* the names of builtin models are short */
    return builtin && access(name, F_OK) != 0;
}

static dg_err read_named(const char *name, dg_model *out, bool *known)
{
    char *text = malloc(DG_MODEL_TEXT_MAX);
    if (!text) return dg_fail(DG_DEVICE, "model %s: out of memory", name);
    dg_err e = named_text(name, text, known);
    if (e) e = dg_context(e, "model %s", name);
    else if (*known) e = dg_model_parse(text, name, out);
    free(text);
    return e;
}

dg_err dg_model_read(const char *name, dg_model *out)
{
    const bool there = access(name, R_OK) == 0;
    if (!there && errno == ENOENT && !strchr(name, '/')) {
        bool known;
        const dg_err e = read_named(name, out, &known);
        if (e || known) return e;
        char list[512] = "";
        for (int i = 0; dg_model_files[i].name; i++)
            snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i ? ", " : "", dg_model_files[i].name);
        return dg_fail(
            DG_USAGE,
            DG_MSG(
                "unknown-model",
                "model %s: no such file or built-in model (built in: %s; any shape such as dcgan-28x1, "
                "dcgan-64x96x3, bilinear-28x1, residual-28x1 or r3gan-28x1; "
                "suffix -spectral: spectral norm in D; suffix -nonorm: no norm in D; suffix -2classes: two classes)"),
            name, list);
    }
    if (!there) return dg_fail(DG_USAGE, "model %s: %s", name, strerror(errno));
    void *text;
    size_t bytes;
    dg_err e = dg_read_file(name, DG_MODEL_TEXT_MAX - 1, &text, &bytes);
    if (e) return dg_context(e == DG_IO ? DG_USAGE : e, "model");
    if (memchr(text, 0, bytes)) e = dg_fail(DG_USAGE, "model %s: not a text file (has a NUL byte)", name);
    else e = dg_model_parse(text, name, out);
    free(text);
    return e;
}
