/* Into how many pieces the CUDA batch norm cuts the rows (pixels) of a group: for the kernels and for the memory that
 * their sums need. Plain C. */
#ifndef DG_NORM_CHUNKS_H
#define DG_NORM_CHUNKS_H

#include <stdint.h>

enum { DG_NORM_CHUNK = 256, DG_NORM_CHUNKS = 256 }; /* rows of a chunk at least, chunks of a group at most */

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
