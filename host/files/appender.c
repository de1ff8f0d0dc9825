#include "host/files/appender.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

dg_err dg_append(dg_appender *a, const void *data, size_t n)
{
    return dg_memory_append(&a->buffer, data, n) ? DG_OK : dg_fail(DG_DEVICE, "%s: out of memory", a->path);
}

/* After a partial write (full disk), truncate the file. A killed process or a power failure can leave a partial line or
 * record, which readers ignore. */
dg_err dg_append_flush(dg_appender *a)
{
    if (a->buffer.bytes == 0) return DG_OK;
    const off_t before = lseek(a->fd, 0, SEEK_END);
    for (size_t done = 0; done < a->buffer.bytes;) {
        errno = EIO; /* if nothing is written without an error */
        const ssize_t n = write(a->fd, a->buffer.text + done, a->buffer.bytes - done);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
            const int error = errno;
            if (before >= 0 && ftruncate(a->fd, before)) errno = error; /* the next start of the run removes it */
            return dg_fail(DG_IO, "%s: cannot append: %s", a->path, strerror(error));
        }
        done += (size_t)n;
    }
    a->buffer.bytes = 0;
    return DG_OK;
}
