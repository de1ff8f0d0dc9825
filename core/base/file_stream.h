/* Outputs other than regular files: descriptors, FIFOs, devices, symbolic links. */
#ifndef DG_FILE_STREAM_H
#define DG_FILE_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include "core/base/err.h"

typedef struct {
    const void *data;
    size_t bytes;
} dg_chunk;

/* Writes the pieces to an open descriptor. Every error returns DG_IO, also a closed pipe; SIGPIPE is not raised. */
dg_err dg_stream_to(int fd, const char *path, const dg_chunk *piece, int pieces);

/* If the path is a FIFO or a device, writes to it and returns true. *e is the error of writing; a block device or a
 * socket is an error. Opening a FIFO blocks until a reader opens it. */
bool dg_stream_file(const char *path, const dg_chunk *piece, int pieces, dg_err *e);

/* *target, malloc'd: target of the symbolic link; NULL: not a link. DG_IO if the target does not exist. */
dg_err dg_link_target(const char *path, char **target);

#endif
