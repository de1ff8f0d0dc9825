/* Base64 with padding (RFC 4648). */
#pragma once

#include <stdint.h>
#include <stdio.h>

static inline void dg_base64(FILE *to, const void *data, size_t bytes)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const uint8_t *p = data;
    for (size_t i = 0; i < bytes; i += 3) {
        const size_t left = bytes - i;
        const unsigned v = (unsigned)p[i] << 16 | (left > 1 ? (unsigned)p[i + 1] << 8 : 0) | (left > 2 ? p[i + 2] : 0u);
        const char four[4] = {digit[v >> 18], digit[v >> 12 & 63], left > 1 ? digit[v >> 6 & 63] : '=',
                              left > 2 ? digit[v & 63] : '='};
        (void)fwrite(four, 1, 4, to);
    }
}
