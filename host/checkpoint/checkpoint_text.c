#include "host/checkpoint/checkpoint_layout.h"

#include <stdlib.h>
#include <string.h>

/* U+F780 ... U+F7FF in UTF-8: EF 9E 80 ... EF 9F BF. */
static bool is_private(const unsigned char *s) { return s[0] == 0xef && (s[1] & 0xfe) == 0x9e; }

char *dg_text_to_utf8(const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    char *out = malloc(3 * strlen(text) + 1), *to = out;
    while (out && *s) {
        unsigned code;
        const int n = dg_utf8((const char *)s, &code);
        if (n == 0 || (n == 3 && is_private(s))) {
            *to++ = (char)0xef;
            *to++ = (char)(0x9e | (*s >> 6 & 1));
            *to++ = (char)(0x80 | (*s & 0x3f));
            s++;
        } else {
            memcpy(to, s, (size_t)n);
            to += n;
            s += n;
        }
    }
    if (out) *to = 0;
    return out;
}

char *dg_text_from_utf8(const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    char *out = malloc(strlen(text) + 1), *to = out;
    while (out && *s) {
        if (is_private(s) && s[2]) {
            *to++ = (char)(0x80 | (s[1] & 1) << 6 | (s[2] & 0x3f));
            s += 3;
        } else {
            *to++ = (char)*s++;
        }
    }
    if (out) *to = 0;
    return out;
}
