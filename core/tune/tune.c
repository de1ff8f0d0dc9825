/* Parses tuning files with the library inih and writes rows as text. inih splits a row at the first "=" into two parts,
 * which are joined again. */
#include "core/tune/tune.h"

#include <errno.h>
#include <ini.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file_io.h"
#include "core/base/grow.h"
#include "core/plan/precision.h"

enum { MAX_BYTES = 256 << 10, MAX_ROWS = 4096, MAX_LINE = 190 /* inih's limit is 200 */ };

typedef struct {
    const char *at;
    int line;
    const char *where;
    dg_tune_table *table;
    dg_type real;
    const dg_gpu *gpu;
    char section[64];
    int section_line;
    int arch;
    const dg_precision *precision;
    int bad, first_line;
    bool exhausted;
    char first[400];
} reader;

static void bad(reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void bad(reader *r, const char *format, ...)
{
    if (r->bad++ && r->first_line <= r->line) return;
    r->first_line = r->line;
    va_list ap;
    va_start(ap, format);
    int n = snprintf(r->first, sizeof r->first, "%s:%d: ", r->where, r->line);
    if (n > 0 && (size_t)n < sizeof r->first) vsnprintf(r->first + n, sizeof r->first - (size_t)n, format, ap);
    va_end(ap);
}

/* Strips leading blanks, because inih treats an indented line as a continuation. Comments become empty lines. */
static char *next_line(char *out, int size, void *context)
{
    reader *r = context;
    if (!*r->at) return NULL;
    const size_t length = strcspn(r->at, "\n");
    r->line++;
    const size_t skip = strspn(r->at, " \t\r\f\v");
    size_t n = length > skip ? length - skip : 0;
    if (n && (r->at[skip] == ';' || r->at[skip] == '#')) n = 0;
    if (n > MAX_LINE || n > (size_t)size - 2) {
        bad(r, "longer than %d characters", MAX_LINE);
        n = 0;
    }
    if (n && r->at[skip] == '[') r->section_line = r->line;
    memcpy(out, r->at + (n ? skip : 0), n);
    out[n] = '\n';
    out[n + 1] = 0;
    r->at += length + (r->at[length] == '\n');
    return out;
}

/* Parses an integer from lo to hi, which the character `end` must follow. */
static bool number(const char *text, char end, int64_t lo, int64_t hi, int64_t *out, const char **rest)
{
    char *stop;
    errno = 0;
    const long long v = strtoll(text, &stop, 10);
    if (*text < '0' || *text > '9' || stop == text || errno || v < lo || v > hi || *stop != end) return false;
    *out = v;
    *rest = stop;
    return true;
}

static dg_op_kind kind_of(const char *name, size_t length)
{
    if (length == 3 && strncmp(name, "bce", 3) == 0) return DG_OP_gan_loss;
    for (int k = 0; k < DG_OP_KINDS; k++) {
        const char *kind = dg_op_kind_name((dg_op_kind)k);
        if (strlen(kind) == length && strncmp(kind, name, length) == 0) return (dg_op_kind)k;
    }
    return DG_OP_KINDS;
}

enum { LARGEST = 1 << 30 };

static const char *shape_word(dg_op *op, const char *word, unsigned *seen)
{
    static const char *const wrong = "a shape consists of words NAME=NUMBER, such as N=64";
    const dg_shape_word *f = dg_op_info_of(op->kind)->shape;
    const char *equals = strchr(word, '=');
    if (!equals) return wrong;
    for (int i = 0; f[i].name; i++) {
        if (f[i].name[0] == '>' || strlen(f[i].name) != (size_t)(equals - word) ||
            strncmp(f[i].name, word, (size_t)(equals - word)) != 0)
            continue;
        const bool pair = f[i + 1].name && f[i + 1].name[0] == '>';
        int64_t v, w;
        const char *rest;
        if (!number(equals + 1, pair ? '>' : 0, f[i].name[0] == 'P' ? 0 : 1,
                    f[i].field.bytes == 8 ? INT64_MAX / 64 : LARGEST, &v, &rest))
            return pair ? "write channels as INPUT>OUTPUT, such as C=3>64" : wrong;
        if (pair && !number(rest + 1, 0, 1, LARGEST, &w, &rest))
            return "write channels as INPUT>OUTPUT, such as C=3>64";
        if (*seen >> i & 1) return "duplicate name in the shape";
        *seen |= 1u << i;
        dg_field_set(op, &f[i].field, v);
        if (pair) {
            dg_field_set(op, &f[i + 1].field, w);
            *seen |= 2u << i;
        }
        return NULL;
    }
    return "unknown name in the shape of this op";
}

static const char *shape_done(dg_op *op, unsigned seen)
{
    const dg_op_info *info = dg_op_info_of(op->kind);
    for (int i = 0; info->shape[i].name; i++)
        if (!(seen >> i & 1)) return DG_MSG("shape-incomplete", "the shape of the op is incomplete");
    return info->complete ? info->complete(op) : NULL;
}

static const char *tune_word(dg_tune *t, const char *word)
{
    int64_t v, w = 0;
    const char *rest;
    if (strncmp(word, "tile=", 5) == 0) {
        if (!number(word + 5, 'x', 1, 4096, &v, &rest) || !number(rest + 1, 0, 1, 4096, &w, &rest))
            return "write a tile as in tile=64x32";
        t->tile_m = (int)v;
        t->tile_n = (int)w;
        return NULL;
    }
    static const struct {
        const char *name;
        size_t at;
    } numbers[] = {{"block=", offsetof(dg_tune, block)},
                   {"stages=", offsetof(dg_tune, stages)},
                   {"split=", offsetof(dg_tune, split)}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const size_t n = strlen(numbers[i].name);
        if (strncmp(word, numbers[i].name, n) != 0) continue;
        if (!number(word + n, 0, 1, 65535, &v, &rest)) return "not a whole number from 1 to 65535";
        const int value = (int)v;
        memcpy((char *)t + numbers[i].at, &value, sizeof value);
        return NULL;
    }
    return "a variant accepts only block=, tile=, stages= and split=";
}

static bool same_key(const dg_op *a, const dg_op *b)
{
    if (a->kind != b->kind) return false;
    for (const dg_shape_word *f = dg_op_info_of(a->kind)->shape; f->name; f++)
        if (dg_field_get(a, &f->field) != dg_field_get(b, &f->field)) return false;
    return true;
}

static void fill_row(const reader *r, dg_tune_row *row, const dg_op *key, const dg_tune *tune)
{
    *row = (dg_tune_row){.key = *key, .tune = *tune, .arch = r->arch, .line = r->line, .precise = r->precision != NULL};
    snprintf(row->why, sizeof row->why, "%.100s:%d", r->where, r->line);
}

static void add_row(reader *r, const dg_op *key, const dg_tune *tune)
{
    dg_tune_table *t = r->table;
    const bool precise = r->precision != NULL;
    for (int i = 0; i < t->rows; i++) {
        dg_tune_row *old = &t->row[i];
        if (old->arch != r->arch || !same_key(&old->key, key)) continue;
        if (old->precise == precise) bad(r, "a row for this op and shape is already at %s", old->why);
        else if (precise) fill_row(r, old, key, tune);
        return;
    }
    if (t->rows >= MAX_ROWS) {
        bad(r, "more than %d rows in this file", t->rows);
        return;
    }
    dg_tune_row *more = dg_grow(t->row, t->rows, &t->capacity, sizeof *more);
    r->exhausted |= !more;
    if (!more) return;
    t->row = more;
    fill_row(r, &t->row[t->rows++], key, tune);
}

static void parse_row(reader *r, char *text)
{
    dg_op op = {0};
    dg_tune tune = {0};
    const char *variant = NULL;
    char *save = NULL, *word = strtok_r(text, " \t\r", &save), *colon = NULL;
    const char *why = NULL;
    op.kind = word ? kind_of(word, strlen(word)) : DG_OP_KINDS;
    if (op.kind == DG_OP_KINDS) {
        bad(r, DG_MSG("no-such-op", "%s: no such op; an example of a row is conv_fwd N=64 ... : tiled tile=64x64"),
            word ? word : "");
        return;
    }
    unsigned seen = 0;
    while (!why && (word = strtok_r(NULL, " \t\r", &save)) && !(colon = strchr(word, ':')))
        why = shape_word(&op, word, &seen);
    if (!why && colon && colon > word) {
        *colon = 0;
        why = shape_word(&op, word, &seen);
    }
    if (!why && !colon) why = "missing colon and variant after the shape";
    if (!why) {
        why = shape_done(&op, seen);
        word = NULL;
    }
    if (!why) {
        variant = colon[1] ? colon + 1 : strtok_r(NULL, " \t\r", &save);
        word = colon;
        if (!variant) why = "missing variant after the colon";
    }
    while (!why && (word = strtok_r(NULL, " \t\r", &save))) why = tune_word(&tune, word);
    if (!why && !(tune.variant = dg_variant_find(op.kind, variant)))
        why = dg_variant_no(DG_MSG("tune-no-variant", "%s has no variant %s"), dg_op_kind_name(op.kind), variant);
    /* a row of another architecture is checked only for properties that do not depend on the device */
    const bool elsewhere = r->arch && r->arch != r->gpu->arch;
    const dg_precision *p = r->precision;
    const dg_gpu gpu = {elsewhere ? r->arch : r->gpu->arch, elsewhere ? SIZE_MAX : r->gpu->shared,
                        p ? p->math : r->gpu->math, r->gpu->wgmma};
    const dg_type real = p ? p->real : r->real;
    if (!why) why = dg_variant_check(&op, &tune, real, &gpu);
    if (why) bad(r, "%s%s%s", word ? word : "", word ? ": " : "", why);
    else if (real == r->real && gpu.math == r->gpu->math) add_row(r, &op, &tune);
}

static bool section_of(reader *r, const char *text)
{
    int64_t arch;
    const char *rest;
    r->precision = NULL;
    if (strncmp(text, "sm_", 3) != 0) return false;
    const char *blank = strchr(text, ' ');
    if (!number(text + 3, blank ? ' ' : 0, 10, 999, &arch, &rest)) return false;
    r->arch = (int)arch;
    if (!blank) return true;
    r->precision = dg_precision_find(rest + 1);
    if (dg_precision_removed(rest + 1)) r->arch = -1; /* sections for tf32, which older versions wrote, are ignored */
    return r->precision || r->arch < 0;
}

static int on_row(void *context, const char *section, const char *name, const char *value)
{
    reader *r = context;
    if (strcmp(section, r->section) != 0) {
        snprintf(r->section, sizeof r->section, "%s", section);
        if (!section_of(r, section)) {
            const int row = r->line;
            r->line = r->section_line;
            bad(r,
                "[%s]: a section names an architecture, such as [sm_90], or an architecture and a precision, such as "
                "[sm_90 bf16]",
                section);
            r->line = row;
            r->arch = -1;
        }
    }
    if (r->arch < 0) return 1;
    char text[2 * MAX_LINE];
    snprintf(text, sizeof text, "%s=%s", name, value);
    parse_row(r, text);
    return 1;
}

dg_err dg_tune_parse(dg_tune_table *t, const char *text, const char *where, dg_type real, const dg_gpu *gpu)
{
    reader r = {.at = text, .where = where, .table = t, .real = real, .gpu = gpu};
    const int wrong = ini_parse_stream(next_line, &r, on_row, &r);
    if (r.exhausted || wrong < 0) return dg_fail(DG_DEVICE, "%s: out of memory for the rows of this file", where);
    if (wrong) {
        r.line = wrong;
        bad(&r, "neither a row nor a [section]");
    }
    if (!r.bad) return DG_OK;
    if (r.bad == 1) return dg_fail(DG_USAGE, "%s", r.first);
    return dg_fail(DG_USAGE, "%s (further errors: %d)", r.first, r.bad - 1);
}

dg_err dg_tune_read(dg_tune_table *t, const char *path, dg_type real, const dg_gpu *gpu)
{
    void *text;
    size_t bytes;
    dg_err e = dg_read_file(path, MAX_BYTES, &text, &bytes);
    if (e) return e;
    if (strlen(text) != bytes) e = dg_fail(DG_USAGE, "%s: not a text file", path);
    else e = dg_tune_parse(t, text, path, real, gpu);
    free(text);
    return e;
}

const dg_tune_row *dg_tune_find(const dg_tune_table *t, const dg_op *op, int arch)
{
    for (int i = 0; i < t->rows; i++)
        if ((!t->row[i].arch || t->row[i].arch == arch) && same_key(&t->row[i].key, op)) return &t->row[i];
    return NULL;
}

static void add(char *out, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void add(char *out, size_t size, const char *format, ...)
{
    const size_t n = strlen(out);
    va_list ap;
    va_start(ap, format);
    vsnprintf(out + n, size - n, format, ap);
    va_end(ap);
}

char *dg_tune_text(char *out, size_t size, const dg_op *op, const dg_tune *tune)
{
    *out = 0;
    add(out, size, "%s", dg_op_kind_name(op->kind));
    for (const dg_shape_word *f = dg_op_info_of(op->kind)->shape; f->name; f++) {
        const long long value = (long long)dg_field_get(op, &f->field);
        if (f->name[0] == '>') add(out, size, ">%lld", value);
        else add(out, size, " %s=%lld", f->name, value);
    }
    add(out, size, " : %s", tune->variant ? tune->variant->name : "");
    if (tune->block) add(out, size, " block=%d", tune->block);
    if (tune->tile_m) add(out, size, " tile=%dx%d", tune->tile_m, tune->tile_n);
    if (tune->stages) add(out, size, " stages=%d", tune->stages);
    if (tune->split > 1) add(out, size, " split=%d", tune->split);
    return out;
}

void dg_tune_free(dg_tune_table *t)
{
    free(t->row);
    memset(t, 0, sizeof *t);
}
