/* config.ini: every value of a run in one section [run], read with inih.
 *
 * inih (as Debian builds it) cuts lines at 200 bytes, ends a value at " ;" and takes an indented line as the
 * continuation of the one before. So lines come to it through a reader of ours that drops comments and
 * indentation and hands over a long line as a first line and continuations; and values with characters that
 * would not survive are written in quotes. */
#include "option_table.h"

#include <ctype.h>
#include <ini.h>
#include <stdlib.h>
#include <string.h>

#include "atomic.h"

enum { VALUE_SIZE = 8192, CONFIG_LIMIT = 1 << 20, MOST_OPTIONS = 64 };

typedef struct {
    const char *at;        /* what is not read yet */
    int line;              /* of what was handed over last */
    bool inside;           /* at points into a long line */
    bool continued;        /* what was handed over last continues the line before it */

    const char *where;
    dg_options *o;
    char name[64], value[VALUE_SIZE]; /* collected so far, not yet set */
    int value_line;
    int seen[MOST_OPTIONS]; /* line of each option */
    dg_err error;           /* the first one; later lines are ignored */
    int error_line;
} reader;

static char *next_line(char *out, int size, void *context)
{
    reader *r = context;
    if (!*r->at) return NULL;
    r->continued = r->inside;
    if (!r->inside) {
        r->line++;
        r->at += strspn(r->at, " \t\r\v\f");
    }
    size_t n = strcspn(r->at, "\n"), room = (size_t)size - 3, head = 0;
    if (!r->inside && (*r->at == ';' || *r->at == '#')) {
        r->at += n + (r->at[n] == '\n');
        snprintf(out, (size_t)size, "\n");
        return out;
    }
    if (r->inside) out[head++] = ' ';
    r->inside = n > room;
    if (r->inside) {
        n = room; /* cut between two characters that are no blanks: inih strips those */
        while (n > room / 2 && (isspace((unsigned char)r->at[n]) || isspace((unsigned char)r->at[n - 1]))) n--;
    }
    memcpy(out + head, r->at, n);
    out[head + n] = 0;
    r->at += n + (!r->inside && r->at[n] == '\n');
    return out;
}

/* "a\x3bb" in quotes back to a;b, in place. */
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
        } else
            *to++ = *c;
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
        if (near) return dg_fail(DG_USAGE, "%s:%d: unknown key '%s'; did you mean '%s'?", r->where, line, r->name, near);
        return dg_fail(DG_USAGE, "%s:%d: %s '%s'", r->where, line, t ? "cannot be set here:" : "unknown key", r->name);
    }
    int *seen = &r->seen[t - dg_option_table];
    if (*seen) return dg_fail(DG_USAGE, "%s:%d: '%s' is already set in line %d", r->where, line, r->name, *seen);
    *seen = line;
    if (!unquote(r->value))
        return dg_fail(DG_USAGE, "%s:%d: %s: no quotation mark at the end", r->where, line, r->name);
    if (!*r->value && t->kind == DG_OPT_TEXT) return DG_OK; /* not set */
    snprintf(where, sizeof where, "%s:%d: %s = %s", r->where, line, r->name, r->value);
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
            r->error = dg_fail(DG_USAGE, "%s:%d: unknown section [%s]; there is only [run]", r->where, r->line, section);
            r->error_line = r->line;
        }
        snprintf(r->name, sizeof r->name, "%s", name);
        *r->value = 0;
        r->value_line = r->line;
    }
    size_t at = strlen(r->value);
    if (at + strlen(value) >= sizeof r->value && !r->error) {
        r->error = dg_fail(DG_USAGE, "%s:%d: value too long", r->where, r->line);
        r->error_line = r->line;
    }
    snprintf(r->value + at, sizeof r->value - at, "%s", value);
    return 1;
}

/* inih counts the lines it was handed; the file's line is wanted. */
static int file_line(const char *text, int handed)
{
    char line[200];
    reader r = {.at = text};
    for (int i = 0; i < handed && next_line(line, (int)sizeof line, &r); i++) continue;
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
    if (strlen(data) != bytes)
        e = dg_fail(DG_USAGE, "%s: not a text file (it holds a zero byte)", path);
    else
        e = dg_config_parse(data, path, o);
    free(data);
    return e;
}
