/* An output that is written in several parts and has no file: a descriptor of the output rule (core/base/file_io.h), a
 * FIFO or a character device. */
#pragma once

#include "core/base/file_io.h"

typedef struct {
    const char *path; /* must stay valid */
    int fd;           /* for dg_stream_to; -1: the path names none of these */
    bool opened;
} dg_pipe;

dg_err dg_pipe_open(const char *path, dg_pipe *p);
/* Returns e, or the error of closing. A dg_pipe of zeros is closed without effect. */
dg_err dg_pipe_close(dg_pipe *p, dg_err e);
