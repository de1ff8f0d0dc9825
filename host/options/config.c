/* Reads config.ini with the library inih. The file stores every option value of a run in section [run].
 *
 * The library inih, as Debian builds it, cuts lines at 200 bytes, ends a value at " ;", reads an indented line as a
 * continuation and strips blanks. next_line() therefore removes comments and indentation, and splits long lines into
 * continuation lines. A byte MARK before and after each split keeps inih from stripping blanks or finding a comment
 * there. Values with characters that inih would change are written in quotes. */
#include "host/options/option_table.h"

#include "host/data/dirs.h"

#include <ctype.h>
#include <ini.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file_io.h"
#include "core/base/memory_file.h"
#include "core/base/shell.h"

enum { VALUE_SIZE = 4 * DG_CONFIG_VALUE, CONFIG_LIMIT = 1 << 20, MARK = 1 };

typedef struct {
    const char *at;
    int line;
    size_t rest;
    bool inside;
    bool continued; /* the last line passed to inih was a continuation line */

    const char *where;
    dg_options *o;
    char name[64], value[VALUE_SIZE];
    int value_line;
    int seen[DG_OPTIONS_MAX];
    dg_err error;
    int error_line;
} reader;

/* Returns the length of the line at s without its comment (" ;..."). */
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
    const size_t room = (size_t)size - 5; /* room for a blank, two marks, a newline and a NUL */
    const size_t n = r->rest > room ? room : r->rest;
    r->rest -= n;
    r->inside = r->rest > 0;
    const char *before = r->continued ? (char[]){' ', MARK, 0} : "", *after = r->inside ? (char[]){MARK, 0} : "";
    snprintf(out, (size_t)size, "%s%.*s%s\n", before, (int)n, r->at, after);
    r->at += n;
    if (!r->inside) skip_line(r);
    return out;
}

/* inih strips blanks only in short lines. */
static void trim(char *s)
{
    const size_t blank = strspn(s, " \t\r\v\f");
    size_t n = strlen(s) - blank;
    memmove(s, s + blank, n + 1);
    while (n && isspace((unsigned char)s[n - 1])) s[--n] = 0;
}

/* Decode a quoted value in place: "a\x3bb" becomes a;b. */
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

/* Returns the file's line number for the n-th line passed to inih. */
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

/* Write a value. Values that inih would change are written in quotes, with \xNN escapes. */
static void write_value(FILE *to, const char *s)
{
    size_t n = strlen(s);
    bool quote = n && (isspace((unsigned char)s[0]) || isspace((unsigned char)s[n - 1]) || *s == '"');
    for (const char *c = s; *c; c++) quote |= *c == ';' || *c == '#' || iscntrl((unsigned char)*c);
    if (quote) fputc('"', to);
    for (const char *c = s; *c; c++) {
        if (quote && (*c == ';' || *c == '#' || *c == '"' || *c == '\\' || iscntrl((unsigned char)*c)))
            fprintf(to, "\\x%02x", (unsigned char)*c);
        else fputc(*c, to);
    }
    if (quote) fputc('"', to);
}

static void write_command_line(FILE *to, int argc, char **argv)
{
    char word[DG_SHELL_ROOM];
    for (int i = 0; i < argc; i++) fprintf(to, " %s", dg_shell_quote(word, sizeof word, argv[i]));
}

/* Make a path option absolute, so that the run can be resumed from another directory. */
static void absolute(const dg_option *t, char *value, size_t size)
{
    static const char *const path[] = {"model", "data", "cache", "tuning", "test", "init"};
    bool is_model = !strcmp(t->name, "model"), is_path = false;
    for (size_t i = 0; i < sizeof path / sizeof path[0]; i++) is_path |= !strcmp(t->name, path[i]);
    struct stat st;
    if (!*value || !is_path || (!strcmp(t->name, "test") && dg_test_share(value) >= 0)) return;
    if (is_model && (stat(value, &st) ? errno == ENOENT : !S_ISREG(st.st_mode))) return; /* built-in model */
    char real[PATH_MAX], here[DG_CONFIG_VALUE], joined[2 * DG_CONFIG_VALUE];
    if (!strcmp(t->name, "data")) dg_dirs_absolute(value, size);
    else if (realpath(value, real)) snprintf(value, size, "%s", real);
    else if (*value != '/' && getcwd(here, sizeof here)) {
        snprintf(joined, sizeof joined, "%s/%s", here, value);
        if (strlen(joined) < size) memcpy(value, joined, strlen(joined) + 1);
    }
}

/* True if config.ini must store all options of [train], because at least one is set. */
static bool says_training(const dg_options *o)
{
    char value[DG_CONFIG_VALUE];
    for (const dg_option *t = dg_option_table; t->name; t++) {
        if (!(t->flags & DG_OPT_IF_SET) || !(t->flags & DG_OPT_MODEL)) continue;
        dg_option_get(o, t, value, sizeof value);
        if (strcmp(value, t->preset ? t->preset : "")) return true;
    }
    return o->model_says;
}

char *dg_config_text(const dg_options *o, int argc, char **argv)
{
    char value[DG_CONFIG_VALUE];
    const bool all = says_training(o);
    dg_memory_file m;
    FILE *to = dg_memory_open(&m);
    if (!to) return NULL;
    fprintf(to, "; All values of this run. To train another run with these values: dcgan --config FILE --out DIR\n"
                "; command:");
    write_command_line(to, argc, argv);
    fprintf(to, "\n[run]\nversion = %s\n", dg_version);
    for (const dg_option *t = dg_option_table; t->name; t++) {
        if (!(t->flags & DG_OPT_SAVED)) continue;
        dg_option_get(o, t, value, sizeof value);
        const bool plain = !*value || (!all && t->preset && !strcmp(value, t->preset));
        if (t->flags & DG_OPT_IF_SET && plain) continue;
        absolute(t, value, sizeof value);
        fprintf(to, "%s =%s", t->name, *value ? " " : "");
        write_value(to, value);
        fputc('\n', to);
    }
    return dg_memory_close(to, &m) ? m.text : NULL;
}

char *dg_config_results(const char *text)
{
    char *out = malloc(strlen(text) + 1), *to = out, name[64];
    for (const char *line = text; out && *line;) {
        const size_t n = strcspn(line, "\n"), length = n + (line[n] != 0);
        snprintf(name, sizeof name, "%.*s", (int)strcspn(line, " =\n"), line);
        const dg_option *t = dg_option_find(name);
        if (t && t->flags & DG_OPT_RESULT) to = (char *)memcpy(to, line, length) + length;
        line += length;
    }
    if (out) *to = 0;
    return out;
}

char *dg_config_settled(const char *text, const char *key, const char *value)
{
    char line[128];
    snprintf(line, sizeof line, "\n%s = ", key);
    const char *at = strstr(text, line);
    if (!at) {
        const size_t size = strlen(text) + strlen(line) + strlen(value) + 2;
        char *longer = malloc(size);
        if (longer) snprintf(longer, size, "%s%s%s\n", text, line + 1, value);
        return longer;
    }
    const size_t head = (size_t)(at - text) + strlen(line), size = strlen(text) + strlen(value) + 1;
    char *out = malloc(size);
    if (out) snprintf(out, size, "%.*s%s%s", (int)head, text, value, text + head + strcspn(text + head, "\n"));
    return out;
}
