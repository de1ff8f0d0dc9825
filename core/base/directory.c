/* Functions of core/base/file_io.h for directories. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file_io.h"

bool dg_is_folder(const char *path)
{
    struct stat st;
    return !stat(path, &st) && S_ISDIR(st.st_mode);
}

dg_err dg_make_directories(const char *directory, int *made)
{
    char path[4096];
    if (snprintf(path, sizeof path, "%s", directory) > (int)sizeof path - 64) /* room for file names */
        return dg_fail(DG_IO, "%s: the path is too long", directory);
    for (char *s = path + 1;; s++) {
        if (*s && *s != '/') continue;
        const char end = *s;
        *s = 0;
        /* stat first, because mkdir of an existing directory on a read-only file system returns EROFS. */
        if (!dg_is_folder(path)) {
            const int error = mkdir(path, 0777) ? errno : 0;
            if (error == EEXIST && !dg_is_folder(path))
                return dg_fail(DG_IO, "%s: cannot create this directory: a file of this name exists", path);
            if (error && error != EEXIST)
                return dg_fail(DG_IO, "%s: cannot create this directory: %s", path, strerror(error));
            if (!error && made) ++*made;
        }
        *s = end;
        if (!end) return DG_OK;
    }
}

/* EINVAL and ENOSYS are ignored, because some file systems cannot sync a directory. */
int dg_sync_directory(int dir) { return fsync(dir) && errno != EINVAL && errno != ENOSYS ? -1 : 0; }

dg_same dg_leads_to(int dir, const char *name, int fd)
{
    struct stat a, b;
    if (fstatat(dir, name, &a, 0)) return errno == ENOENT || errno == ENOTDIR ? DG_SAME_NO : DG_SAME_UNKNOWN;
    if (fstat(fd, &b)) return DG_SAME_UNKNOWN;
    return a.st_dev == b.st_dev && a.st_ino == b.st_ino ? DG_SAME_YES : DG_SAME_NO;
}

DIR *dg_list_directory(int dir)
{
    const int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* dup() would share the read position */
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d && fd >= 0) close(fd);
    return d;
}
