#include "host/data/made.h"
#include "core/base/bytes.h"
#include "core/base/file_io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool dg_png_says(const void *head, size_t bytes, const char *key, const char *value)
{
    const uint8_t *p = head;
    const size_t keyed = strlen(key) + 1, wanted = strlen(value);
    if (bytes < 8 || memcmp(p, "\x89PNG\r\n\x1a\n", 8) != 0) return false;
    for (size_t at = 8; bytes - at >= 12;) {
        const uint32_t length = dg_big_endian(p + at);
        const size_t left = bytes - at - 8;
        const uint8_t *name = p + at + 4, *data = p + at + 8;
        if (!memcmp(name, "IDAT", 4)) return false;
        if (!memcmp(name, "tEXt", 4) && length >= keyed + wanted && left >= keyed + wanted &&
            !memcmp(data, key, keyed) && !memcmp(data + keyed, value, wanted))
            return true;
        if ((size_t)length + 4 > left) return false;
        at += 12 + length;
    }
    return false;
}

bool dg_made_by_us(const void *head, size_t bytes) { return dg_png_says(head, bytes, "Software", "dcgan "); }

bool dg_made_picture(const void *head, size_t bytes) { return dg_png_says(head, bytes, "Picture", ""); }

static bool ours(int folder, const char *file, const char *const *names, const char *key, const char *value)
{
    while (*names && fnmatch(*names, file, 0)) names++;
    const int fd = *names ? openat(folder, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC) : -1;
    char head[DG_HEAD_BYTES];
    const ssize_t n = fd < 0 ? -1 : dg_read_some(fd, head, sizeof head);
    if (fd >= 0) close(fd);
    return n > 0 && dg_png_says(head, (size_t)n, key, value);
}

dg_err dg_only_ours(const char *dir, const char *const *names, const char *key, const char *value)
{
    DIR *d = opendir(dir);
    if (!d) {
        if (errno == ENOENT || errno == ENOTDIR) return DG_OK;
        return dg_fail(errno == ENOMEM ? DG_DEVICE : DG_IO, "%s: cannot be listed: %s", dir, strerror(errno));
    }
    char first[256] = "", shown[1024]; /* of several the same one each time */
    for (const struct dirent *e; (errno = 0, e = readdir(d));)
        if (e->d_name[0] != '.' && (!*first || strcmp(e->d_name, first) < 0) &&
            !ours(dirfd(d), e->d_name, names, key, value))
            snprintf(first, sizeof first, "%s", e->d_name);
    const int error = errno;
    closedir(d);
    if (error) return dg_fail(DG_IO, "%s: cannot be listed: %s", dir, strerror(error));
    if (!*first) return DG_OK;
    return dg_fail(DG_USAGE,
                   "%s: holds %s, and pictures are written only into a folder that is new, empty or has "
                   "nothing but earlier ones of the same kind: name another folder",
                   dir, dg_printable(shown, sizeof shown, first));
}
