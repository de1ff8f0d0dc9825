#include "fuzz.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/files/safetensors_internal.h"

/* Corrects the header length and the checksums, which nearly every mutation invalidates. */
static void mend(uint8_t *data, size_t size)
{
    if (size < 10) return;
    size_t header = 0;
    for (size_t i = 8; i < size && i < 1 << 16; i++)
        if (data[i] == '}' && (i + 1 == size || (data[i + 1] != '}' && data[i + 1] != ','))) {
            header = i + 1 - 8;
            break;
        }
    while (8 + header < size && data[8 + header] == ' ') header++;
    for (int i = 0; i < 8; i++) data[i] = (uint8_t)(header >> 8 * i & 255);
    char *text = (char *)data + 8;
    for (size_t at = 0; at + 40 < header;) {
        /* A checksum is a metadata entry "crc32.NAME":"XXXXXXXX". */
        char *key = memmem(text + at, header - at, "\"crc32.", 7);
        if (!key) break;
        at = (size_t)(key - text) + 7;
        char *end = memchr(key + 7, '"', header - at);
        if (!end || (size_t)(end - text) + 12 > header || end[1] != ':') continue;
        char name[140];
        int n = snprintf(name, sizeof name, "\"%.*s\":{", (int)(end - key - 7), key + 7);
        char *entry = n > 0 && (size_t)n < sizeof name ? memmem(text, header, name, (size_t)n) : NULL;
        char *where = entry ? memmem(entry, header - (size_t)(entry - text), "data_offsets\":[", 15) : NULL;
        size_t from, to;
        char copy[48] = "";
        if (!where) continue;
        memcpy(copy, where + 15, header - (size_t)(where + 15 - text) < 47 ? header - (size_t)(where + 15 - text) : 47);
        if (sscanf(copy, "%zu,%zu", &from, &to) != 2 || to < from || to > size - 8 - header) continue;
        char digits[9];
        snprintf(digits, sizeof digits, "%08x", dg_st_crc(text + header + from, to - from));
        memcpy(end + 3, digits, 8);
    }
    const char *own = dg_st_find_digits(text, header);
    if (!own) return;
    char digits[9];
    snprintf(digits, sizeof digits, "%08x", dg_st_header_crc((const char *)data, 8 + header, own));
    memcpy(data + (own - (const char *)data), digits, 8);
}

static const char *const piece[] = {"{",
                                    "}",
                                    "[",
                                    "]",
                                    ",",
                                    "\"",
                                    ":",
                                    "0",
                                    "1",
                                    " ",
                                    "18446744073709551616",
                                    "9007199254740991",
                                    "-1",
                                    "1e3",
                                    "null",
                                    "[[[[",
                                    "\"F64\"",
                                    "\"U8\"",
                                    "\"shape\":[",
                                    "\"data_offsets\":[0,8]",
                                    "\"dtype\":\"F32\"",
                                    "\"__metadata__\":{",
                                    "\"crc32\":\"00000000\"",
                                    "\"main.0.weight\":",
                                    "\"model\":\"[model]\"",
                                    "\\u0000",
                                    "\\ud800",
                                    "\xff",
                                    "\xed\xa0\x80"};

/* Returns the header length that the file declares, or 0 if it is invalid. */
static size_t header_bytes(const uint8_t *data, size_t size)
{
    size_t header = 0;
    for (int i = 7; i >= 0 && size >= 8; i--) header = header << 8 | data[i];
    return size >= 8 && header <= size - 8 ? header : 0;
}

static void change_values(uint8_t *data, size_t size, unsigned *random)
{
    static const double odd[] = {0, -0.0, 1, -1, 1e-45, 1e-310, 3e38, -3e38, 1e308, 0x1p53, NAN, INFINITY, -INFINITY};
    const size_t header = header_bytes(data, size), begin = 8 + header;
    if (!header || size - begin < 16) return;
    const size_t n = size - begin;
    const double wide = odd[fuzz_random(random, sizeof odd / sizeof *odd)];
    const float narrow = (float)wide;
    switch (fuzz_random(random, 4)) {
    case 0: memcpy(data + begin + fuzz_random(random, (unsigned)(n / 4)) * (size_t)4, &narrow, 4); return;
    case 1: memcpy(data + begin + fuzz_random(random, (unsigned)(n / 8)) * (size_t)8, &wide, 8); return;
    }
    const size_t at = begin + fuzz_random(random, (unsigned)(n - 8));
    (void)fuzz_mutate_part(data, at + 8, at, 8, at + 8);
}

static size_t put_piece(uint8_t *data, size_t size, size_t at, size_t most, const char *text)
{
    const size_t n = strlen(text);
    if (n > most - size) return size;
    memmove(data + at + n, data + at, size - at);
    memcpy(data + at, text, n);
    return size + n;
}

static size_t take_out(uint8_t *data, size_t size, size_t at, size_t n)
{
    if (n > size - at) return size;
    memmove(data + at, data + at + n, size - at - n);
    return size - n;
}

static void change_digit(uint8_t *data, size_t size, size_t at, unsigned *random)
{
    for (; at < size; at++) {
        if (data[at] < '0' || data[at] > '9') continue;
        data[at] = (uint8_t)('0' + fuzz_random(random, 10));
        return;
    }
}

size_t fuzz_mutate_safetensors(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    unsigned random = seed;
    const size_t header = header_bytes(data, size), room = header ? header : size;
    const size_t at = header ? 8 + fuzz_random(&random, (unsigned)header) : 0;
    const unsigned piece_of = fuzz_random(&random, sizeof piece / sizeof *piece);
    switch (room > 8 ? fuzz_random(&random, 7) : 0) {
    case 0: size = LLVMFuzzerMutate(data, size, most); break;
    case 1: size = put_piece(data, size, at, most, piece[piece_of]); break;
    case 2: size = take_out(data, size, at, fuzz_random(&random, 32)); break;
    case 3: change_digit(data, size, at, &random); break;
    case 4: size = header ? fuzz_mutate_part(data, size, 8, header, most) : size; break;
    default: change_values(data, size, &random);
    }
    if (fuzz_random(&random, 8)) mend(data, size);
    return size;
}
