/* Whole files or none: written to a hidden temporary name in the same directory, fsynced, renamed over the
 * final name, directory fsynced. After a failure the old file is untouched, the temporary one is gone, and the
 * message says path, bytes needed and bytes free when the disk is full. A failed fsync is never retried
 * (Rebello et al., ATC 2020: the pages are marked clean). */
#ifndef DG_ATOMIC_H
#define DG_ATOMIC_H

#include <stddef.h>
#include "err.h"

typedef struct {
    const void *data;
    size_t bytes;
} dg_piece;

dg_err dg_write_atomic(const char *path, const dg_piece *piece, int pieces);

/* Remove temporary files that a killed run left in this directory. Only names of our own pattern. */
void dg_sweep_temporaries(const char *directory);

/* Read a whole regular file of at most `limit` bytes; never blocks on a FIFO. *data is malloc'd, with one
 * extra NUL byte behind it. DG_IO with path and reason. */
dg_err dg_read_file(const char *path, size_t limit, void **data, size_t *bytes);

#endif
