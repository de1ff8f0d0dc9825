/* How the CUDA batch norm divides a group's rows (pixels) into chunks. The kernels and the computation of their scratch
 * size use this division. */
#ifndef DG_NORM_CHUNKS_H
#define DG_NORM_CHUNKS_H

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

#endif
