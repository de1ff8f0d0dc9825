/* Reads regular files. The size limit is checked before memory is allocated. */
#include "core/base/file_io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *dg_last_component(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Opens a regular file of at most `limit` bytes without blocking on a FIFO. `follow` is 0 or O_NOFOLLOW. */
static dg_err open_regular(int dir, const char *path, int follow, size_t limit, int *fd, size_t *bytes)
{
    const int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | follow;
    struct stat s;
    dg_err e = DG_OK;
    *bytes = 0;
    do *fd = dir < 0 ? open(path, flags) : openat(dir, dg_last_component(path), flags);
    while (*fd < 0 && errno == EINTR);
    if (*fd < 0 && errno == ELOOP && follow)
        return dg_fail(DG_IO, "%s: is a symbolic link, but must be a regular file; replace the link by the file", path);
    if (*fd < 0) return dg_fail(DG_IO, DG_MSG("cannot-open", "%s: cannot open this file: %s"), path, strerror(errno));
    if (fstat(*fd, &s)) e = dg_fail(DG_IO, "%s: cannot read the attributes of this file: %s", path, strerror(errno));
    else if (!S_ISREG(s.st_mode))
        e = dg_fail(DG_IO, DG_MSG("not-a-file", "%s: is %s"), path,
                    S_ISDIR(s.st_mode) ? "a directory, not a file" : "not a regular file");
    else if (s.st_size < 0 || (uintmax_t)s.st_size > limit)
        e = dg_fail(DG_IO, "%s: has %jd bytes, more than the %zu allowed for such a file", path, (intmax_t)s.st_size,
                    limit);
    if (!e) {
        *bytes = (size_t)s.st_size;
        return DG_OK;
    }
    close(*fd);
    *fd = -1;
    return e;
}

dg_err dg_read_open(const char *path, size_t limit, int *fd, size_t *bytes)
{
    return open_regular(-1, path, 0, limit, fd, bytes);
}

dg_err dg_read_own_open(int dir, const char *path, size_t limit, int *fd, size_t *bytes)
{
    return open_regular(dir, path, O_NOFOLLOW, limit, fd, bytes);
}

/* at: offset in the file, or -1 for its position */
static ssize_t read_from(int fd, void *to, size_t n, int64_t at)
{
    size_t got = 0;
    while (got < n) {
        char *const next = (char *)to + got;
        const size_t most = n - got < 1u << 30 ? n - got : 1u << 30;
        const ssize_t now = at < 0 ? read(fd, next, most) : pread(fd, next, most, (off_t)at + (off_t)got);
        if (now < 0 && errno == EINTR) continue;
        if (now < 0) return -1;
        if (now == 0) break;
        got += (size_t)now;
    }
    return (ssize_t)got;
}

ssize_t dg_read_some(int fd, void *to, size_t n) { return read_from(fd, to, n, -1); }

ssize_t dg_read_at(int fd, void *to, size_t n, int64_t at) { return read_from(fd, to, n, at); }

dg_err dg_read_next(int fd, const char *path, void *to, size_t n)
{
    const ssize_t got = dg_read_some(fd, to, n);
    if (got < 0) return dg_fail(DG_IO, "%s: cannot read this file: %s", path, strerror(errno));
    return (size_t)got == n ? DG_OK : dg_fail(DG_IO, "%s: changed while it was being read", path);
}

static dg_err read_whole(int dir, const char *path, int follow, size_t limit, void **data, size_t *bytes)
{
    int fd;
    char more, *memory = NULL;
    *data = NULL;
    dg_err e = open_regular(dir, path, follow, limit, &fd, bytes);
    if (e) return e;
    memory = malloc(*bytes + 1);
    e = memory ? dg_read_next(fd, path, memory, *bytes)
               : dg_fail(DG_DEVICE, "%s: out of memory for the %zu bytes of this file", path, *bytes);
    if (!e && dg_read_some(fd, &more, 1) > 0) e = dg_fail(DG_IO, "%s: changed while it was being read", path);
    close(fd);
    if (e) {
        free(memory);
        *bytes = 0;
        return e;
    }
    memory[*bytes] = 0;
    *data = memory;
    return DG_OK;
}

dg_err dg_read_file(const char *path, size_t limit, void **data, size_t *bytes)
{
    return read_whole(-1, path, 0, limit, data, bytes);
}

dg_err dg_read_file_in(int dir, const char *path, size_t limit, void **data, size_t *bytes)
{
    return read_whole(dir, path, 0, limit, data, bytes);
}

dg_err dg_read_own_in(int dir, const char *path, size_t limit, void **data, size_t *bytes)
{
    return read_whole(dir, path, O_NOFOLLOW, limit, data, bytes);
}

static dg_err read_pieces(int fd, const char *path, size_t bytes, char **text)
{
    enum { PIECE = 1 << 20 };
    size_t got = 0, room = 0;
    dg_err e = DG_OK;
    bool nul = false;
    char more;
    do {
        const size_t left = bytes - got, n = left < PIECE ? left : PIECE;
        if (got + n + 1 > room) {
            room = 2 * got + n + 1;
            char *grown = realloc(*text, room);
            if (!grown) return dg_fail(DG_DEVICE, "%s: out of memory for the %zu bytes of this file", path, bytes);
            *text = grown;
        }
        e = dg_read_next(fd, path, *text + got, n);
        nul = !e && n && memchr(*text + got, 0, n);
        got += n;
    } while (!e && !nul && got < bytes);
    if (!e) (*text)[got] = 0;
    if (!e && !nul && read(fd, &more, 1) > 0) e = dg_fail(DG_IO, "%s: changed while it was being read", path);
    return e;
}

dg_err dg_read_text(int dir, const char *path, bool own, size_t limit, void **text, size_t *bytes)
{
    int fd;
    char *memory = NULL;
    *text = NULL;
    dg_err e = open_regular(dir, path, own ? O_NOFOLLOW : 0, limit, &fd, bytes);
    if (e) return e;
    e = read_pieces(fd, path, *bytes, &memory);
    close(fd);
    if (e) {
        free(memory);
        *bytes = 0;
        return e;
    }
    *text = memory;
    return DG_OK;
}
