#include "err.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static _Thread_local char message[1024];

const char *dg_message(void) { return message; }

/* Length of the valid UTF-8 sequence at s, 0 if there is none (RFC 3629). */
static int utf8_length(const unsigned char *s)
{
    int n = s[0] < 0x80 ? 1 : s[0] >= 0xc2 && s[0] < 0xe0 ? 2 : (s[0] & 0xf0) == 0xe0 ? 3 : s[0] >= 0xf0 && s[0] < 0xf5 ? 4 : 0;
    for (int i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80) return 0;
    if (n == 2 && s[0] == 0xc2 && s[1] < 0xa0) return 0;                /* C1 control characters */
    if (n == 3 && ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] >= 0xa0))) return 0;
    if (n == 3 && s[0] == 0xe2 && ((s[1] == 0x80 && s[2] >= 0xaa && s[2] <= 0xae) ||
                                   (s[1] == 0x81 && s[2] >= 0xa6 && s[2] <= 0xa9)))
        return 0;                                                       /* bidirectional overrides */
    if (n == 4 && ((s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] >= 0x90))) return 0;
    return n;
}

char *dg_printable(char *out, unsigned long size, const char *text)
{
    unsigned long at = 0;
    const unsigned char *s = (const unsigned char *)text;
    while (*s) {
        int n = *s < 0x20 || *s == 0x7f ? 0 : utf8_length(s);
        unsigned long need = n ? (unsigned long)n : 4;
        if (at + need + 1 > size) break;
        if (n)
            memcpy(out + at, s, need);
        else
            snprintf(out + at, 5, "\\x%02x", *s);
        at += need;
        s += n ? n : 1;
    }
    if (size) out[at] = 0;
    return out;
}

static void store(const char *format, va_list ap, const char *rest)
{
    char raw[1024];
    int n = vsnprintf(raw, sizeof raw, format, ap);
    if (n < 0) n = 0;
    if ((size_t)n >= sizeof raw) n = (int)sizeof raw - 1;
    snprintf(raw + n, sizeof raw - (size_t)n, "%s%s", *rest ? ": " : "", rest);
    dg_printable(message, sizeof message, raw);
}

dg_err dg_fail(dg_err code, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    store(format, ap, "");
    va_end(ap);
    return code;
}

dg_err dg_context(dg_err code, const char *format, ...)
{
    if (code == DG_OK) return code;
    char rest[sizeof message];
    memcpy(rest, message, sizeof rest);
    va_list ap;
    va_start(ap, format);
    store(format, ap, rest);
    va_end(ap);
    return code;
}

void dg_warn(const char *format, ...)
{
    char raw[1024], line[1024];
    va_list ap;
    va_start(ap, format);
    vsnprintf(raw, sizeof raw, format, ap);
    va_end(ap);
    /* A progress line may be on the screen: start over it, or the warning sticks to its end. */
    const char *term = getenv("TERM");
    bool terminal = isatty(STDERR_FILENO) && term && *term && strcmp(term, "dumb") != 0;
    fprintf(stderr, "%sdcgan: warning: %s\n", terminal ? "\r\033[K" : "", dg_printable(line, sizeof line, raw));
}
