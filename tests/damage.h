/* Tests file readers with invalid files: tables of errors, truncated files and flipped bits. */
#pragma once

#include "core/base/err.h"
#include "test.h"

typedef dg_err reader(const void *data, size_t n);

/* An invalid file, or n bytes to write at offset `at` of a valid file. */
typedef struct {
    const char *why; /* part of the error message, or NULL if the reader accepts the file */
    const char *bytes;
    size_t n, at;
} refusal;
#define BYTES(text) (text), sizeof(text) - 1

/* Reads a malloc'd copy of exactly n bytes, so that a sanitizer detects reads past the end. */
static dg_err read_copy(reader *read, const void *data, size_t n)
{
    uint8_t *copy = malloc(n ? n : 1);
    if (!copy) abort();
    if (n) memcpy(copy, data, n);
    const dg_err e = read(copy, n);
    free(copy);
    return e;
}

/* Checks that the reader refuses each file with error `code`, or accepts it if `why` is NULL. If `valid` is not
 * NULL, each row patches a copy of this file. */
__attribute__((unused)) static void check_refusals(const refusal *row, size_t rows, reader *read, dg_err code,
                                                   const void *valid, size_t bytes)
{
    for (size_t i = 0; i < rows; i++) {
        uint8_t *whole = malloc(valid ? bytes : row[i].n + 1);
        if (!whole || (valid && row[i].at + row[i].n > bytes)) abort();
        if (valid) memcpy(whole, valid, bytes);
        if (row[i].n) memcpy(whole + row[i].at, row[i].bytes, row[i].n);
        const dg_err e = read_copy(read, whole, valid ? bytes : row[i].n);
        DG_CHECKF(row[i].why ? e == code && strstr(dg_message(), row[i].why) : !e,
                  "row %zu: \"%s\" expected: %d \"%s\"", i, row[i].why ? row[i].why : "", (int)e,
                  e ? dg_message() : "");
        free(whole);
    }
}

/* Number of truncated files (cuts) and of files with one flipped bit (flips) that a reader accepted. */
typedef struct {
    long cuts, flips;
} accepted;

/* Reads the first 0 to `whole` - 1 bytes, and every copy with one flipped bit. The reader must accept the data or
 * refuse it with error `code`. */
__attribute__((unused)) static accepted damage(const void *data, size_t n, size_t whole, reader *read, dg_err code)
{
    accepted a = {0, 0};
    uint8_t *changed = malloc(n ? n : 1);
    if (!changed) abort();
    memcpy(changed, data, n);
    for (size_t i = 0; i < whole + 8 * n; i++) {
        const size_t bit = i < whole ? 0 : i - whole;
        if (i >= whole) changed[bit / 8] ^= (uint8_t)(1 << bit % 8);
        dg_set_message("%s", "");
        const dg_err e = i < whole ? read_copy(read, data, i) : read_copy(read, changed, n);
        if (i >= whole) changed[bit / 8] ^= (uint8_t)(1 << bit % 8);
        *(i < whole ? &a.cuts : &a.flips) += !e;
        DG_CHECKF(!e || (e == code && *dg_message()), "%s %zu: %d \"%s\"", i < whole ? "cut to" : "flipped bit",
                  i < whole ? i : bit, (int)e, dg_message());
    }
    free(changed);
    return a;
}
