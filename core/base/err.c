#include "core/base/err.h"

#include "core/base/limits.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local char message[DG_MESSAGE_BYTES];

const char *dg_message(void) { return message; }

bool dg_message_keys(void)
{
    const char *value = getenv("DCGAN_MESSAGE_KEYS");
    return value && strcmp(value, "1") == 0;
}

int dg_utf8(const char *text, unsigned *code)
{
    const unsigned char *s = (const unsigned char *)text;
    const int n = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : s[0] < 0xf5 ? 4 : 0;
    if (n == 0) return 0;
    *code = n == 1 ? s[0] : s[0] & (0xffu >> (n + 1));
    for (int i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80) return 0;
        *code = *code << 6 | (s[i] & 0x3fu);
    }
    const bool surrogate = *code >= 0xd800 && *code < 0xe000;
    const bool longer = (n == 3 && *code < 0x800) || (n == 4 && *code < 0x10000);
    return surrogate || longer || *code > 0x10ffff ? 0 : n;
}

int dg_printable_bytes(const char *text)
{
    unsigned c;
    const int n = dg_utf8(text, &c);
    if (n == 0 || c < 0x20 || (c >= 0x7f && c < 0xa0)) return 0;
    if (c >= 0x2028 && c <= 0x202e) return 0; /* line separators and bidirectional controls */
    return c == 0x61c || c == 0x200e || c == 0x200f || (c >= 0x2066 && c <= 0x2069) ? 0 : n;
}

char *dg_printable(char *out, unsigned long size, const char *text)
{
    unsigned long at = 0;
    while (*text) {
        const int n = dg_printable_bytes(text);
        const unsigned long need = n ? (unsigned long)n : 4;
        if (at + need + 1 > size) break;
        if (n) memcpy(out + at, text, need);
        else snprintf(out + at, 5, "\\x%02x", (unsigned char)*text);
        at += need;
        text += n ? n : 1;
    }
    if (size) out[at] = 0;
    return out;
}

static const char *setting_prefix = "";

void dg_set_setting_prefix(const char *prefix) { setting_prefix = prefix; }

char *dg_named_settings(char *out, unsigned long size, const char *text)
{
    size_t n = 0;
    bool within = false;
    for (const char *s = text; *s && n + sizeof "--" < size; s++) {
        const bool begins = *s == '{' && s[1] >= 'a' && s[1] <= 'z', ends = *s == '}' && within;
        if (begins) n += (size_t)snprintf(out + n, size - n, "%s", setting_prefix);
        else if (!ends) out[n++] = *s;
        within = begins || (within && !ends);
    }
    out[n] = 0;
    return out;
}

static void store(const char *format, va_list ap, const char *rest)
{
    char raw[DG_MESSAGE_BYTES], named[DG_MESSAGE_BYTES];
    int n = vsnprintf(raw, sizeof raw, dg_named_settings(named, sizeof named, format), ap);
    if (n < 0) n = 0;
    if ((size_t)n >= sizeof raw) n = (int)sizeof raw - 1;
    n += snprintf(raw + n, sizeof raw - (size_t)n, "%s%s", *rest ? ": " : "", rest);
    if ((size_t)n < sizeof raw && !*rest && (strstr(format, "out of memory") || strstr(format, "no memory")))
        (void)dg_memory_limit_note(raw + n, sizeof raw - (size_t)n);
    dg_printable(message, sizeof message, raw);
}

void dg_set_message(const char *format, ...)
{
    const int error = errno;
    va_list ap;
    va_start(ap, format);
    store(format, ap, "");
    va_end(ap);
    errno = error;
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

static dg_on_warning *on_warning;
static void *warning_context;

void dg_set_warnings(dg_on_warning *f, void *context)
{
    on_warning = f;
    warning_context = context;
}

void dg_warn(const char *format, ...)
{
    char raw[DG_MESSAGE_BYTES], text[DG_MESSAGE_BYTES], named[DG_MESSAGE_BYTES];
    if (!on_warning) return;
    va_list ap;
    va_start(ap, format);
    vsnprintf(raw, sizeof raw, dg_named_settings(named, sizeof named, format), ap);
    va_end(ap);
    on_warning(warning_context, dg_printable(text, sizeof text, raw));
}
