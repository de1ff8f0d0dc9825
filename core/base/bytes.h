/* Reads big-endian integers of file formats such as PNG. */
#pragma once

#include <stdint.h>

static inline uint32_t dg_big_endian(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | (uint32_t)p[3];
}
