/* libFuzzer: the reader of safetensors files, and what is done with a file that it took. Built by `make fuzz` with
 * clang. The custom mutator changes bytes, pieces of the header and sizes, and mends the length field and the
 * checksums afterwards, so that mutants come past them. */
#include "host/files/safetensors.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/files/checkpoint_internal.h"
#include "host/files/safetensors_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

static volatile unsigned sink;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static dg_model model;
    for (int flags = 0; flags <= DG_ST_CHECKED; flags++) {
        dg_st *st;
        if (dg_st_parse(data, size, "fuzz", flags, &st) != DG_OK) {
            if (st || strncmp(dg_message(), "fuzz: ", 6) != 0) abort(); /* every refusal has a reason */
            continue;
        }
        size_t bytes = 0;
        unsigned sum = 0;
        for (int i = 0; i < dg_st_count(st); i++) {
            const dg_st_tensor *t = dg_st_at(st, i);
            if ((uintptr_t)t->data & 7 || dg_st_find(st, t->name) != t) abort();
            size_t n = dg_type_bytes(t->type);
            for (int d = 0; d < t->rank; d++) n *= (size_t)t->dim[d];
            if (n != t->bytes) abort();
            bytes += n;
            for (size_t k = 0; k < t->bytes; k++) sum += ((const unsigned char *)t->data)[k];
        }
        if (bytes >= size) abort();
        for (int i = 0; i < dg_st_meta_count(st); i++) sum += (unsigned)strlen(dg_st_meta_at(st, i).value);
        if (dg_ck_derive(st, "fuzz", &model) == DG_OK) {
            sum += dg_ck_check(st, "fuzz", &model, true, DG_F32) == DG_OK;
            sum += dg_ck_check(st, "fuzz", &model, false, DG_F32) == DG_OK;
        }
        sink = sum;
        dg_st_free(st);
    }
    return 0;
}

/* Put right what random changes nearly always break: the length of the header and the checksums of tensors whose
 * offsets can still be read. */
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
        /* "crc32.NAME":"XXXXXXXX" */
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

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
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
    const size_t pieces = sizeof piece / sizeof piece[0];
    size_t at = size > 8 ? 8 + seed / 7 % (size - 8) : 0;
    switch (seed % 4) {
    case 0: size = LLVMFuzzerMutate(data, size, most); break;
    case 1: { /* a piece of JSON put in */
        const char *p = piece[seed / 4 % pieces];
        size_t n = strlen(p);
        if (size + n > most) break;
        memmove(data + at + n, data + at, size - at);
        memcpy(data + at, p, n);
        size += n;
        break;
    }
    case 2: { /* some bytes taken out */
        size_t n = seed / 64 % 32;
        if (at + n > size) break;
        memmove(data + at, data + at + n, size - at - n);
        size -= n;
        break;
    }
    default: /* a digit changed */
        for (size_t i = 0; i < size; i++) {
            size_t k = (at + i) % size;
            if (data[k] < '0' || data[k] > '9') continue;
            data[k] = (uint8_t)('0' + seed / 16 % 10);
            break;
        }
    }
    if (seed / 3 % 8) mend(data, size);
    return size;
}
