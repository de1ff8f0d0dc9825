/* SHA-256 (FIPS 180-4), which identifies weights. */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint32_t h[8];
    uint64_t bytes;
    uint8_t block[64];
} dg_sha256;

void dg_sha256_begin(dg_sha256 *s);
void dg_sha256_add(dg_sha256 *s, const void *data, size_t bytes);

/* Write the hash as 64 hexadecimal digits in lower case. */
enum { DG_SHA256_TEXT = 65 };
void dg_sha256_end(dg_sha256 *s, char out[DG_SHA256_TEXT]);
