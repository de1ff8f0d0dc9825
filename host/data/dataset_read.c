/* Reads a single file of an untrusted folder. */
#include "host/data/dataset_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LOST_MOST = 32 }; /* with the pauses of dg_try_soon: at most 7 s for 32 files */

bool dg_try_again(dg_lost *lost, int error, int tries)
{
    if (!dg_may_pass(error) || atomic_load(lost) >= LOST_MOST) return false;
    const bool again = dg_try_soon(error, tries);
    if (!again) atomic_fetch_add(lost, 1);
    return again;
}

static dg_err refused(int error)
{
    if (dg_errno_kind(error) == DG_DEVICE) return dg_fail(DG_DEVICE, "cannot open any more files: %s", strerror(error));
    if (error == ENOENT) return dg_fail(DG_IO, "vanished");
    return dg_fail(DG_IO, "cannot be read: %s", strerror(error));
}

/* O_NONBLOCK, because a FIFO may have replaced the file after the directory was listed. */
static dg_err open_regular(int folder, const char *name, int *fd, size_t *bytes, int *error)
{
    struct stat st;
    *fd = openat(folder, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (*fd < 0) return refused(*error = errno);
    dg_err e = DG_OK;
    if (fstat(*fd, &st)) e = refused(*error = errno);
    else if (!S_ISREG(st.st_mode)) e = dg_fail(DG_IO, "no longer a regular file");
    else if (st.st_size <= 0) e = dg_fail(DG_DATA, "empty file");
    if (e) {
        close(*fd);
        return e;
    }
    *bytes = (size_t)st.st_size;
    return DG_OK;
}

static dg_err read_exactly(int fd, uint8_t *to, size_t bytes, int *error)
{
    const ssize_t n = dg_read_some(fd, to, bytes);
    if (n < 0) return refused(*error = errno);
    return (size_t)n == bytes ? DG_OK : dg_fail(DG_IO, "became shorter while it was read");
}

static dg_err find_inside(const dg_folder *folder, const char *name, const dg_zip_file **file, size_t *bytes)
{
    *file = dg_zip_find(folder->zip, name);
    if (!*file) return dg_fail(DG_IO, "vanished");
    *bytes = (size_t)(*file)->bytes;
    return *bytes ? DG_OK : dg_fail(DG_DATA, "empty file");
}

/* Reads at most `room` bytes into *data. If *data is NULL, allocates memory for the whole file; then a file of more
 * than `room` bytes is an error. */
static dg_err read_once(const dg_folder *folder, const char *name, size_t room, uint8_t **data, size_t *bytes,
                        int *error)
{
    int fd = -1;
    const dg_zip_file *file = NULL;
    uint8_t *to = *data;
    dg_err e = folder->zip ? find_inside(folder, name, &file, bytes)
                           : open_regular(folder->fd, name, &fd, bytes, error);
    if (e) return e;
    if (to && *bytes > room) *bytes = room;
    if (*bytes > room) e = dg_fail(DG_DATA, "a file of %zu bytes, the limit is %zu", *bytes, room);
    else if (!to && !(to = malloc(*bytes))) e = dg_fail(DG_DEVICE, "no memory for a file of %zu bytes", *bytes);
    else if (folder->zip) e = dg_zip_read(folder->zip, file, to, *bytes, error);
    else e = read_exactly(fd, to, *bytes, error);
    if (fd >= 0) close(fd);
    if (e && !*data) free(to);
    else *data = to;
    return e;
}

static dg_err read_file(const dg_folder *folder, const char *name, dg_lost *lost, size_t room, uint8_t **data,
                        size_t *bytes)
{
    for (int tries = 0;; tries++) {
        int error = 0;
        const dg_err e = read_once(folder, name, room, data, bytes, &error);
        if (!e || !dg_try_again(lost, error, tries)) return e;
    }
}

dg_err dg_file_head(const dg_folder *folder, const char *name, dg_lost *lost, uint8_t *head, size_t room, size_t *bytes)
{
    return read_file(folder, name, lost, room, &head, bytes);
}

dg_err dg_file_whole(const dg_folder *folder, const char *name, dg_lost *lost, size_t limit, uint8_t **data,
                     size_t *bytes)
{
    *data = NULL;
    return read_file(folder, name, lost, limit, data, bytes);
}

dg_err dg_is_there(const dg_folder *folder, const char *name, bool *there)
{
    *there = folder->zip ? dg_zip_find(folder->zip, name) != NULL : !faccessat(folder->fd, name, F_OK, 0);
    if (*there || folder->zip || errno == ENOENT) return DG_OK;
    return dg_fail(errno == ENOMEM ? DG_DEVICE : DG_IO, "cannot check whether it exists: %s", strerror(errno));
}
