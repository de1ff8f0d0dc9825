/* config.ini: every value of a run in one section [run], read with inih.
 *
 * inih (as Debian builds it) cuts lines at 200 bytes, ends a value at " ;", reads an indented line as a continuation
 * and strips blanks. next_line() therefore drops comments and indentation, and passes a long line in pieces: a first
 * line and continuations. The pieces have a mark on each side of a cut, so that inih neither strips blanks nor finds
 * a comment there. Values with characters that inih would change in a short line are written in quotes. */
#include "host/options/option_table.h"

#include <ctype.h>
#include <ini.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file_io.h"

enum { VALUE_SIZE = 4 * DG_CONFIG_VALUE, CONFIG_LIMIT = 1 << 20, MARK = 1 };

typedef struct {
    const char *at;
    int line;
    size_t rest;
    bool inside;
    bool continued; /* the last piece continues a line */

    const char *where;
    dg_options *o;
    char name[64], value[VALUE_SIZE]; /* of the current line */
    int value_line;
    int seen[DG_OPTIONS_MAX];
    dg_err error;
    int error_line;
} reader;

/* Returns the length of the line at s without its comment, which starts with a blank and a semicolon. */
static size_t line_bytes(const char *s)
{
    const size_t n = strcspn(s, "\n");
    for (size_t i = 1; i < n; i++)
        if (s[i] == ';' && isspace((unsigned char)s[i - 1])) return i - 1;
    return n;
}

static void skip_line(reader *r)
{
    r->at += strcspn(r->at, "\n");
    r->at += *r->at == '\n';
}

static char *next_line(char *out, int size, void *context)
{
    reader *r = context;
    if (!*r->at) return NULL;
    r->continued = r->inside;
    if (!r->inside) {
        r->line++;
        r->at += strspn(r->at, " \t\r\v\f");
        r->rest = *r->at == ';' || *r->at == '#' ? 0 : line_bytes(r->at);
    }
    const size_t room = (size_t)size - 5; /* 5 bytes: a blank, two marks, the end of the line and the NUL */
    const size_t n = r->rest > room ? room : r->rest;
    r->rest -= n;
    r->inside = r->rest > 0;
    const char *before = r->continued ? (char[]){' ', MARK, 0} : "", *after = r->inside ? (char[]){MARK, 0} : "";
    snprintf(out, (size_t)size, "%s%.*s%s\n", before, (int)n, r->at, after);
    r->at += n;
    if (!r->inside) skip_line(r);
    return out;
}

/* Strip blanks from both ends, because inih strips them only in short lines. */
static void trim(char *s)
{
    const size_t blank = strspn(s, " \t\r\v\f");
    size_t n = strlen(s) - blank;
    memmove(s, s + blank, n + 1);
    while (n && isspace((unsigned char)s[n - 1])) s[--n] = 0;
}

/* Decodes a quoted value such as "a\x3bb" to a;b, in place. */
static bool unquote(char *s)
{
    size_t n = strlen(s);
    if (*s != '"') return true;
    if (n < 2 || s[n - 1] != '"') return false;
    s[n - 1] = 0;
    char *to = s;
    for (const char *c = s + 1; *c; c++) {
        if (*c == '\\' && c[1] == 'x' && isxdigit((unsigned char)c[2]) && isxdigit((unsigned char)c[3])) {
            char hex[3] = {c[2], c[3], 0};
            *to++ = (char)strtol(hex, NULL, 16);
            c += 3;
        } else *to++ = *c;
    }
    *to = 0;
    return true;
}

static dg_err set(reader *r)
{
    char where[512];
    int line = r->value_line;
    if (!strcmp(r->name, "version")) return DG_OK;
    const dg_option *t = dg_option_find(r->name);
    if (!t || !(t->flags & DG_OPT_SAVED) || !(t->commands >> DG_CMD_TRAIN & 1)) {
        const char *near = t ? NULL : dg_option_nearest(r->name, DG_CMD_TRAIN);
        if (near && strcmp(near, r->name) != 0)
            return dg_fail(DG_USAGE, DG_MSG("unknown-key-near", "%s:%d: unknown key '%s'; did you mean '%s'?"),
                           r->where, line, r->name, near);
        return dg_fail(DG_USAGE, "%s:%d: %s '%s'", r->where, line, t ? "this file cannot set option" : "unknown key",
                       r->name);
    }
    int *seen = &r->seen[t - dg_option_table];
    if (*seen) return dg_fail(DG_USAGE, "%s:%d: '%s' is already set in line %d", r->where, line, r->name, *seen);
    *seen = line;
    trim(r->value);
    if (!unquote(r->value))
        return dg_fail(DG_USAGE, "%s:%d: %s: no quotation mark at the end", r->where, line, r->name);
    if (!*r->value && t->kind == DG_OPT_TEXT) return DG_OK;
    if ((t->flags & DG_OPT_IF_SET) && (t->flags & DG_OPT_MODEL)) r->o->model_says = true;
    if (!strcmp(r->name, "precision") && dg_precision_removed(r->value)) {
        r->o->tf32_line = line;
        return DG_OK;
    }
    snprintf(where, sizeof where, "%s:%d: %s = %.300s", r->where, line, r->name, r->value);
    return dg_option_set(r->o, t, r->value, where);
}

static void flush(reader *r)
{
    if (*r->name && !r->error) {
        r->error = set(r);
        r->error_line = r->value_line;
    }
    *r->name = 0;
}

static int take(void *context, const char *section, const char *name, const char *value)
{
    reader *r = context;
    if (!r->continued) {
        flush(r);
        if (*section && strcmp(section, "run") && !r->error) {
            r->error = dg_fail(DG_USAGE, "%s:%d: unknown section [%s]; there is only [run]", r->where, r->line,
                               section);
            r->error_line = r->line;
        }
        snprintf(r->name, sizeof r->name, "%s", name);
        *r->value = 0;
        r->value_line = r->line;
    }
    const size_t at = strlen(r->value);
    size_t n = strlen(value);
    if (r->continued && *value == MARK) value++, n--;
    if (r->inside && n && value[n - 1] == MARK) n--;
    if (at + n >= sizeof r->value && !r->error) {
        r->error = dg_fail(DG_USAGE, "%s:%d: value too long", r->where, r->line);
        r->error_line = r->line;
    }
    snprintf(r->value + at, sizeof r->value - at, "%.*s", (int)n, value);
    return 1;
}

/* Returns the file's line number of the n-th line that was passed to inih. */
static int file_line(const char *text, int n)
{
    char line[200];
    reader r = {.at = text};
    for (int i = 0; i < n && next_line(line, (int)sizeof line, &r); i++) continue;
    return r.line;
}

dg_err dg_config_parse(const char *text, const char *where, dg_options *o)
{
    reader r = {.at = text, .where = where, .o = o};
    int bad = ini_parse_stream(next_line, &r, take, &r);
    if (bad < 0) return dg_fail(DG_DEVICE, "out of memory");
    flush(&r);
    int line = bad ? file_line(text, bad) : 0;
    if (r.error && (!bad || r.error_line <= line)) return r.error;
    if (bad) return dg_fail(DG_USAGE, "%s:%d: neither [section] nor key = value", where, line);
    return DG_OK;
}

dg_err dg_config_read(const char *path, dg_options *o)
{
    void *data;
    size_t bytes;
    dg_err e = dg_read_file(path, CONFIG_LIMIT, &data, &bytes);
    if (e) return e;
    if (strlen(data) != bytes) e = dg_fail(DG_USAGE, "%s: not a text file (has a NUL byte)", path);
    else e = dg_config_parse(data, path, o);
    free(data);
    return e;
}
