/* Chunks into which the CUDA kernels divide the rows (pixels) of a batch norm group. */
#pragma once

#include <stdint.h>

enum { DG_NORM_CHUNK = 256, DG_NORM_CHUNKS = 256 }; /* minimum rows per chunk, maximum chunks per group */

static inline int dg_norm_chunk_rows(int64_t rows)
{
    int64_t chunk = DG_NORM_CHUNK;
    while (rows > chunk * DG_NORM_CHUNKS) chunk *= 2;
    return (int)chunk;
}

static inline int dg_norm_chunk_count(int64_t rows)
{
    return (int)((rows + dg_norm_chunk_rows(rows) - 1) / dg_norm_chunk_rows(rows));
}
