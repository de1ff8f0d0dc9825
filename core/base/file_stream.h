/* Outputs that are no regular files: descriptors, FIFOs, devices, symbolic links. */
#ifndef DG_FILE_STREAM_H
#define DG_FILE_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include "core/base/err.h"

typedef struct {
    const void *data;
    size_t bytes;
} dg_chunk;

/* Write the pieces to an open descriptor. A closed pipe is DG_IO, as every error; SIGPIPE is not raised. */
dg_err dg_stream_to(int fd, const char *path, const dg_chunk *piece, int pieces);

/* True: the path leads to a FIFO or a device, and *e says how writing to it went. A block device and a socket are
 * refused. Opening a FIFO waits for its reader. */
bool dg_stream_file(const char *path, const dg_chunk *piece, int pieces, dg_err *e);

/* *target, malloc'd: the file that a symbolic link leads to; NULL: the path is no link. DG_IO where it leads to
 * nothing. */
dg_err dg_link_target(const char *path, char **target);

#endif
