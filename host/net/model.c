#include "host/net/model.h"

#include <errno.h>
#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/atomic.h"

struct dg_model_file {
    const char *name, *text;
};
extern const struct dg_model_file dg_model_files[];

/* What inih's callbacks share. inih gives no line numbers in its callback, so the reader counts them. */
typedef struct {
    const char *at; /* the unread rest of the text */
    const char *where;
    int line;
    dg_model *m;
    unsigned seen[2][DG_MAX_LAYERS]; /* a bit a key of that layer */
    int layer_line[2][DG_MAX_LAYERS];
    unsigned seen_model;
    dg_err err;
    int err_line;
} parser;

enum { OP = 1, FILTERS = 2, KERNEL = 4, STRIDE = 8, PAD = 16, NORM = 32, ACT = 64, SLOPE = 128 };

static char *next_line(char *out, int size, void *context)
{
    parser *p = context;
    if (!*p->at) return NULL;
    int n = 0;
    while (p->at[n] && p->at[n] != '\n') n++;
    if (p->at[n] == '\n') n++;
    if (n > size - 1) n = size - 1; /* dg_model_parse has refused such lines already */
    memcpy(out, p->at, (size_t)n);
    out[n] = 0;
    p->at += n;
    p->line++;
    return out;
}

static int bad(parser *p, const char *section, const char *key, const char *value, const char *right)
{
    if (p->err == DG_OK) {
        p->err = dg_fail(DG_USAGE, "%s:%d: [%s] %s = %s: %s", p->where, p->line, section, key, value, right);
        p->err_line = p->line;
    }
    return 0;
}

/* A whole number from lo to hi; false when it is not. */
static bool whole(const char *text, int lo, int hi, int *out)
{
    char *end;
    errno = 0;
    long v = strtol(text, &end, 10);
    if (end == text || *end || errno || v < lo || v > hi) return false;
    *out = (int)v;
    return true;
}

static int model_key(parser *p, const char *section, const char *key, const char *value)
{
    dg_model *m = p->m;
    if (!strcmp(key, "name")) {
        size_t n = strlen(value);
        if (!n || n >= sizeof m->name ||
            strspn(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") != n)
            return bad(p, section, key, value, "must be 1 to 63 letters, digits, dots, dashes or underscores");
        memcpy(m->name, value, n + 1);
        p->seen_model |= 1;
    } else if (!strcmp(key, "size")) {
        if (!whole(value, 16, 256, &m->size) || (m->size & (m->size - 1)))
            return bad(p, section, key, value, "must be a power of two from 16 to 256");
        p->seen_model |= 2;
    } else if (!strcmp(key, "channels")) {
        if (!whole(value, 1, 3, &m->channels) || m->channels == 2)
            return bad(p, section, key, value, "must be 1 (grey) or 3 (RGB)");
        p->seen_model |= 4;
    } else if (!strcmp(key, "latent")) {
        if (!whole(value, 1, 4096, &m->latent))
            return bad(p, section, key, value, "must be a whole number from 1 to 4096");
        p->seen_model |= 8;
    } else {
        return bad(p, section, key, value, "unknown key; [model] has name, size, channels, latent");
    }
    return 1;
}

static int layer_key(parser *p, const char *section, const char *key, const char *value, int net, int i)
{
    dg_layer *l = &p->m->net[net].layer[i];
    unsigned bit;
    if (!p->seen[net][i]) {
        snprintf(l->name, sizeof l->name, "%c.%u", "GD"[net], (unsigned)(i + 1) % 100u);
        p->layer_line[net][i] = p->line;
        l->slope = 0.2;
    }
    if (!strcmp(key, "op")) {
        bit = OP;
        l->transpose = !strcmp(value, "conv_transpose");
        if (!l->transpose && strcmp(value, "conv"))
            return bad(p, section, key, value, "must be conv or conv_transpose");
    } else if (!strcmp(key, "filters")) {
        bit = FILTERS;
        if (!whole(value, 1, 16384, &l->filters))
            return bad(p, section, key, value, "must be a whole number from 1 to 16384");
    } else if (!strcmp(key, "kernel")) {
        bit = KERNEL;
        if (!whole(value, 1, 16, &l->kernel)) return bad(p, section, key, value, "must be a whole number from 1 to 16");
    } else if (!strcmp(key, "stride")) {
        bit = STRIDE;
        if (!whole(value, 1, 8, &l->stride)) return bad(p, section, key, value, "must be a whole number from 1 to 8");
    } else if (!strcmp(key, "pad")) {
        bit = PAD;
        if (!whole(value, 0, 15, &l->pad)) return bad(p, section, key, value, "must be a whole number from 0 to 15");
    } else if (!strcmp(key, "norm")) {
        bit = NORM;
        l->norm = !strcmp(value, "batch");
        if (!l->norm && strcmp(value, "none")) return bad(p, section, key, value, "must be batch or none");
    } else if (!strcmp(key, "act")) {
        bit = ACT;
        static const char *const name[] = {"none", "relu", "leaky", "tanh"};
        int a = 0;
        while (a < 4 && strcmp(value, name[a])) a++;
        if (a == 4) return bad(p, section, key, value, "must be relu, leaky, tanh or none");
        l->act = (dg_act)a;
    } else if (!strcmp(key, "slope")) {
        bit = SLOPE;
        char *end;
        l->slope = strtod(value, &end);
        if (end == value || *end || !(l->slope >= 0 && l->slope < 1))
            return bad(p, section, key, value, "must be a number from 0 up to, not including, 1");
    } else {
        return bad(p, section, key, value,
                   "unknown key; a layer has op, filters, kernel, stride, pad, norm, act, slope");
    }
    if (p->seen[net][i] & bit) return bad(p, section, key, value, "this key is given twice");
    p->seen[net][i] |= bit;
    return 1;
}

static int on_key(void *context, const char *section, const char *key, const char *value)
{
    parser *p = context;
    if (p->err != DG_OK) return 0;
    if (!strcmp(section, "model")) return model_key(p, section, key, value);
    int i;
    if ((section[0] == 'G' || section[0] == 'D') && section[1] == '.' && whole(section + 2, 1, DG_MAX_LAYERS, &i))
        return layer_key(p, section, key, value, section[0] == 'G' ? DG_G : DG_D, i - 1);
    return bad(p, section, key, value, "unknown section; there are [model], [G.1] ... [G.16] and [D.1] ... [D.16]");
}

/* Everything about layer i that can only be known when all keys have been read. */
static dg_err shape_layer(parser *p, int net, int i, dg_shape in, int *main_index)
{
    dg_layer *l = &p->m->net[net].layer[i];
    unsigned missing = (OP | FILTERS | KERNEL | STRIDE | PAD | NORM | ACT) & ~p->seen[net][i];
    static const char *const key[] = {"op", "filters", "kernel", "stride", "pad", "norm", "act"};
    int line = p->layer_line[net][i];
    for (int k = 0; k < 7; k++)
        if (missing & (1u << k))
            return dg_fail(DG_USAGE, "%s:%d: [%s] has no key %s; every layer needs it", p->where, line, l->name,
                           key[k]);
    if (l->norm && l->act == DG_ACT_TANH)
        return dg_fail(DG_USAGE, "%s:%d: [%s] act = tanh: does not go with norm = batch; use norm = none", p->where,
                       line, l->name);
    if (l->pad >= l->kernel)
        return dg_fail(DG_USAGE, "%s:%d: [%s] pad = %d: must be less than kernel = %d", p->where, line, l->name, l->pad,
                       l->kernel);
    l->in = in;
    l->out = (dg_shape){1, 0, 0, l->filters};
    int *out[2] = {&l->out.H, &l->out.W}, from[2] = {in.H, in.W};
    for (int d = 0; d < 2; d++) {
        if (l->transpose) {
            *out[d] = (from[d] - 1) * l->stride + l->kernel - 2 * l->pad;
        } else {
            int span = from[d] + 2 * l->pad - l->kernel;
            if (span >= 0 && span % l->stride)
                return dg_fail(DG_USAGE,
                               "%s:%d: [%s] %d x %d with kernel = %d, stride = %d, pad = %d leaves a rest of %d "
                               "pixels; choose pad so that it is 0",
                               p->where, line, l->name, in.H, in.W, l->kernel, l->stride, l->pad, span % l->stride);
            *out[d] = span < 0 ? 0 : span / l->stride + 1;
        }
        if (*out[d] < 1 || *out[d] > 1024)
            return dg_fail(DG_USAGE,
                           "%s:%d: [%s] makes %d x %d pictures of its %d x %d input; check kernel, stride and pad",
                           p->where, line, l->name, *out[d], *out[d], in.H, in.W);
    }
    l->main_conv = (*main_index)++;
    l->main_norm = l->norm ? (*main_index)++ : -1;
    if (l->act != DG_ACT_NONE) (*main_index)++;
    return DG_OK;
}

static dg_err shape_net(parser *p, int net)
{
    dg_model *m = p->m;
    dg_net *n = &m->net[net];
    char letter = "GD"[net];
    n->letter = letter;
    for (int i = DG_MAX_LAYERS - 1; i >= 0; i--)
        if (p->seen[net][i] && i >= n->layers) n->layers = i + 1;
    if (!n->layers)
        return dg_fail(DG_USAGE, "%s: has no section [%c.1]: a model needs the layers of both networks", p->where,
                       letter);
    dg_shape at = net == DG_G ? (dg_shape){1, 1, 1, m->latent} : (dg_shape){1, m->size, m->size, m->channels};
    int main_index = 0;
    for (int i = 0; i < n->layers; i++) {
        if (!p->seen[net][i])
            return dg_fail(DG_USAGE, "%s: section [%c.%d] is missing; layers are numbered from 1 without gaps",
                           p->where, letter, i + 1);
        dg_err e = shape_layer(p, net, i, at, &main_index);
        if (e) return e;
        at = n->layer[i].out;
    }
    const dg_layer *last = &n->layer[n->layers - 1];
    int line = p->layer_line[net][n->layers - 1];
    dg_shape want = net == DG_G ? (dg_shape){1, m->size, m->size, m->channels} : (dg_shape){1, 1, 1, 1};
    if (at.H != want.H || at.W != want.W || at.C != want.C)
        return dg_fail(DG_USAGE, "%s:%d: [%s] ends in %d x %d x %d; the %s must end in %d x %d x %d", p->where, line,
                       last->name, at.H, at.W, at.C, net == DG_G ? "generator" : "discriminator", want.H, want.W,
                       want.C);
    if (net == DG_G && (last->norm || last->act != DG_ACT_TANH))
        return dg_fail(DG_USAGE, "%s:%d: [%s] is the generator's last layer: it needs norm = none and act = tanh",
                       p->where, line, last->name);
    if (net == DG_D && (last->norm || last->act != DG_ACT_NONE))
        return dg_fail(DG_USAGE, "%s:%d: [%s] gives the logit: it needs norm = none and act = none", p->where, line,
                       last->name);
    return DG_OK;
}

dg_err dg_model_parse(const char *text, const char *where, dg_model *out)
{
    char shown[256];
    parser p = {.at = text, .where = dg_printable(shown, sizeof shown, where), .m = out};
    memset(out, 0, sizeof *out);
    if (strlen(text) >= sizeof out->text)
        return dg_fail(DG_USAGE, "%s: longer than %d bytes; a model file is a few lines a layer", p.where,
                       DG_MODEL_TEXT_MAX - 1);
    int line = 1;
    for (const char *s = text; *s; line++) {
        size_t n = strcspn(s, "\n");
        if (n > 150) return dg_fail(DG_USAGE, "%s:%d: line of %zu characters; at most 150", p.where, line, n);
        s += n + (s[n] != 0);
    }
    int first_bad = ini_parse_stream(next_line, &p, on_key, &p);
    if (p.err != DG_OK && first_bad >= p.err_line) return p.err;
    if (first_bad < 0) return dg_fail(DG_DEVICE, "%s: out of memory", p.where);
    if (first_bad > 0) return dg_fail(DG_USAGE, "%s:%d: neither [section] nor key = value", p.where, first_bad);
    static const char *const key[] = {"name", "size", "channels", "latent"};
    for (int k = 0; k < 4; k++)
        if (!(p.seen_model & (1u << k))) return dg_fail(DG_USAGE, "%s: section [model] has no key %s", p.where, key[k]);
    for (int net = 0; net < 2; net++) {
        dg_err e = shape_net(&p, net);
        if (e) return e;
    }
    memcpy(out->text, text, strlen(text) + 1);
    return DG_OK;
}

const char *dg_model_builtin(int i)
{
    for (int k = 0; k <= i; k++)
        if (!dg_model_files[k].name) return NULL;
    return dg_model_files[i].name;
}

dg_err dg_model_read(const char *name, dg_model *out)
{
    const bool there = access(name, R_OK) == 0;
    if (!there && errno == ENOENT && !strchr(name, '/')) {
        for (int i = 0; dg_model_files[i].name; i++)
            if (!strcmp(name, dg_model_files[i].name)) return dg_model_parse(dg_model_files[i].text, name, out);
        char list[512] = "";
        for (int i = 0; dg_model_files[i].name; i++)
            snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i ? ", " : "", dg_model_files[i].name);
        return dg_fail(DG_USAGE, "model %s: there is no such file and no built-in model of that name (built in: %s)",
                       name, list);
    }
    if (!there) return dg_fail(DG_USAGE, "model %s: %s", name, strerror(errno));
    void *text;
    size_t bytes;
    dg_err e = dg_read_file(name, DG_MODEL_TEXT_MAX - 1, &text, &bytes);
    if (e) return dg_context(e == DG_IO ? DG_USAGE : e, "model");
    if (memchr(text, 0, bytes)) e = dg_fail(DG_USAGE, "model %s: holds a NUL byte, so it is no text file", name);
    else e = dg_model_parse(text, name, out);
    free(text);
    return e;
}

/* Append one layer section. */
static void put_layer(char *out, size_t *at, const char *op, char net, int i, int filters, int stride, int pad,
                      const char *norm, const char *act)
{
    int n = snprintf(out + *at, DG_MODEL_TEXT_MAX - *at,
                     "[%c.%d]\nop = %s\nfilters = %d\nkernel = 4\nstride = %d\npad = %d\nnorm = %s\nact = %s\n", net, i,
                     op, filters, stride, pad, norm, act);
    *at += n > 0 ? (size_t)n : 0;
}

dg_err dg_model_stock(char *out, const char *name, int size, int channels, int latent, int ngf, int ndf)
{
    if (size < 16 || size > 256 || (size & (size - 1)))
        return dg_fail(DG_USAGE, "size %d: must be a power of two from 16 to 256", size);
    int depth = 0; /* halvings between size / 2 and 4 */
    while ((8 << depth) < size) depth++;
    if (ngf < 1 || ndf < 1 || ngf > (16384 >> depth) || ndf > (16384 >> depth))
        return dg_fail(DG_USAGE, "widths %d and %d: must be from 1 to %d for size %d", ngf, ndf, 16384 >> depth, size);
    size_t at = (size_t)snprintf(out, DG_MODEL_TEXT_MAX, "[model]\nname = %s\nsize = %d\nchannels = %d\nlatent = %d\n",
                                 name, size, channels, latent);
    for (int i = 0; i <= depth; i++)
        put_layer(out, &at, "conv_transpose", 'G', i + 1, ngf << (depth - i), i ? 2 : 1, i ? 1 : 0, "batch", "relu");
    put_layer(out, &at, "conv_transpose", 'G', depth + 2, channels, 2, 1, "none", "tanh");
    for (int i = 0; i <= depth; i++)
        put_layer(out, &at, "conv", 'D', i + 1, ndf << i, 2, 1, i ? "batch" : "none", "leaky");
    put_layer(out, &at, "conv", 'D', depth + 2, 1, 1, 0, "none", "none");
    return DG_OK;
}
