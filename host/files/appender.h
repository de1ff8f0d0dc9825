/* Appends to a file through a buffer in memory. A failed write is undone, and the buffer is kept for a retry. */
#pragma once

#include "core/base/err.h"
#include "core/base/memory_file.h"

typedef struct {
    char path[4400]; /* for messages */
    int fd;          /* opened with O_APPEND, or -1 */
    dg_memory_file buffer;
} dg_appender;

/* Adds n bytes to the buffer. */
dg_err dg_append(dg_appender *a, const void *data, size_t n);
/* Writes the buffer to the file. */
dg_err dg_append_flush(dg_appender *a);
