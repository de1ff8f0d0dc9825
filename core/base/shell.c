#include "core/base/shell.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/base/err.h"

static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._-+=:,@%";

typedef struct {
    char *out;
    size_t at, size;
    bool full;
} word;

static void put(word *w, const char *bytes, size_t n)
{
    w->full |= n >= w->size - w->at;
    if (w->full) return;
    memcpy(w->out + w->at, bytes, n);
    w->at += n;
}

static bool is_printable(const char *s)
{
    while (*s) {
        const int n = dg_printable_bytes(s);
        if (!n) return false;
        s += n;
    }
    return true;
}

static void put_quoted(word *w, const char *s)
{
    put(w, "'", 1);
    for (; *s; s++) put(w, *s == '\'' ? "'\\''" : s, *s == '\'' ? 4 : 1);
    put(w, "'", 1);
}

/* Appends a quoted string with escapes. `high` is the escape prefix of bytes >= 0x80. A hex digit after \xNN is
 * escaped, because some shells read more than two digits. "!" is escaped, because interactive shells expand it. */
static void put_escaped(word *w, const char *s, const char *high)
{
    bool digits = false;
    put(w, "'", 1);
    while (*s) {
        int n = dg_printable_bytes(s);
        char hex[12];
        if (n == 0 || *s == '!' || (digits && n == 1 && strchr("0123456789abcdefABCDEF", *s))) {
            const unsigned char c = (unsigned char)*s++;
            const int shown = snprintf(hex, sizeof hex, "%s%02x", c < 0x80 ? "\\x" : high, c);
            put(w, hex, (size_t)shown);
            digits = true;
            continue;
        }
        if (*s == '\'' || *s == '\\') put(w, "\\", 1);
        put(w, s, (size_t)n);
        s += n;
        digits = false;
    }
    put(w, "'", 1);
}

static char *finish(word *w)
{
    if (w->size == 0) return w->out;
    if (w->full) snprintf(w->out, w->size, "WORD");
    else w->out[w->at] = 0;
    return w->out;
}

static char *quote(char *out, size_t size, const char *front, const char *text)
{
    word w = {.out = out, .size = size, .full = size == 0};
    put(&w, front, strlen(front));
    if (*text && !text[strspn(text, plain)]) {
        put(&w, text, strlen(text));
    } else if (is_printable(text)) {
        put_quoted(&w, text);
    } else {
        put(&w, "$", 1);
        put_escaped(&w, text, "\\x");
    }
    return finish(&w);
}

char *dg_shell_quote(char *out, size_t size, const char *text) { return quote(out, size, "", text); }

char *dg_shell_path(char *out, size_t size, const char *path)
{
    return quote(out, size, *path == '-' ? "./" : "", path);
}

char *dg_python_quote(char *out, size_t size, const char *text)
{
    word w = {.out = out, .size = size, .full = size == 0};
    put_escaped(&w, text, "\\udc");
    return finish(&w);
}

static char program[DG_SHELL_ROOM] = "dcgan";

const char *dg_program(void) { return program; }

void dg_set_program(const char *argv0)
{
    if (argv0 && *argv0) dg_shell_quote(program, sizeof program, argv0);
}
