#include "host/files/made.h"
#include "core/base/bytes.h"
#include "core/base/file_io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Find the value of the tEXt chunk `key` before the pixels of a PNG. The first *n bytes of the value are in p. */
static const uint8_t *find_text(const uint8_t *p, size_t bytes, const char *key, size_t from, size_t *n, size_t *next)
{
    const size_t keyed = strlen(key) + 1;
    for (size_t at = from; bytes - at >= 12;) {
        const uint32_t length = dg_big_endian(p + at);
        const size_t left = bytes - at - 8, here = length < left ? length : left;
        const uint8_t *name = p + at + 4, *data = p + at + 8;
        if (!memcmp(name, "IDAT", 4)) return NULL;
        *next = (size_t)length + 4 > left ? bytes : at + 12 + length;
        if (!memcmp(name, "tEXt", 4) && here >= keyed && !memcmp(data, key, keyed)) {
            *n = here - keyed;
            return data + keyed;
        }
        at = *next;
    }
    return NULL;
}

static bool is_png(const uint8_t *p, size_t bytes) { return bytes >= 8 && !memcmp(p, "\x89PNG\r\n\x1a\n", 8); }

bool dg_png_says(const void *head, size_t bytes, const char *key, const char *value)
{
    const size_t wanted = strlen(value);
    size_t n, next = 8;
    if (!is_png(head, bytes)) return false;
    for (const uint8_t *at; (at = find_text(head, bytes, key, next, &n, &next));)
        if (n >= wanted && !memcmp(at, value, wanted)) return true;
    return false;
}

bool dg_png_text(const void *head, size_t bytes, const char *key, char *out, size_t size)
{
    size_t n, next = 8;
    const uint8_t *at = is_png(head, bytes) ? find_text(head, bytes, key, next, &n, &next) : NULL;
    if (at) snprintf(out, size, "%.*s", (int)(n < size ? n : size), (const char *)at);
    return at != NULL;
}

static size_t colors_of(unsigned flags) { return flags & 0x80 ? (size_t)3 << ((flags & 7) + 1) : 0; }

bool dg_gif_says(const void *head, size_t bytes, const char *value)
{
    const uint8_t *p = head;
    const size_t wanted = strlen(value);
    if (bytes < 13 || (memcmp(p, "GIF87a", 6) != 0 && memcmp(p, "GIF89a", 6) != 0)) return false;
    size_t at = 13 + colors_of(p[10]);
    /* a GIF extension consists of a label and blocks, of which the last is empty */
    while (at < bytes && bytes - at > 3 && p[at] == 0x21) {
        const bool comment = p[at + 1] == 0xfe;
        at += 2;
        if (comment && p[at] >= wanted && bytes - at - 1 >= wanted && !memcmp(p + at + 1, value, wanted)) return true;
        while (at < bytes && p[at]) at += 1 + (size_t)p[at];
        at++;
    }
    return false;
}

bool dg_made_by_us(const void *head, size_t bytes)
{
    return dg_png_says(head, bytes, "Software", "dcgan ") || dg_gif_says(head, bytes, "dcgan ");
}

bool dg_made_image(const void *head, size_t bytes) { return dg_png_says(head, bytes, "Picture", ""); }

static bool ours(int folder, const char *file, const char *const *names, const char *key, const char *value)
{
    while (*names && fnmatch(*names, file, 0)) names++;
    const int fd = *names ? openat(folder, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC) : -1;
    char head[DG_TEXTS_BYTES];
    const ssize_t n = fd < 0 ? -1 : dg_read_some(fd, head, sizeof head);
    if (fd >= 0) close(fd);
    return n > 0 && dg_png_says(head, (size_t)n, key, value);
}

static dg_err find_other(const char *dir, const char *const *names, const char *key, const char *value,
                         char first[256]);

/* True for a folder with only our files, if names[0] is DG_MADE_FOLDERS. */
static bool our_folder(const char *dir, const char *file, const char *const *names, const char *key, const char *value)
{
    char path[4400], other[256];
    struct stat s;
    if (strcmp(names[0], DG_MADE_FOLDERS) != 0) return false;
    if ((size_t)snprintf(path, sizeof path, "%s/%s", dir, file) >= sizeof path) return false;
    return !lstat(path, &s) && S_ISDIR(s.st_mode) && !find_other(path, names + 1, key, value, other) && !*other;
}

/* first: receives the bytewise smallest name of a file that dg_only_ours refuses, or "" if there is none. */
static dg_err find_other(const char *dir, const char *const *names, const char *key, const char *value, char first[256])
{
    DIR *d = opendir(dir);
    *first = 0;
    if (!d) {
        if (errno == ENOENT || errno == ENOTDIR) return DG_OK;
        return dg_fail(errno == ENOMEM ? DG_DEVICE : DG_IO, "%s: cannot be listed: %s", dir, strerror(errno));
    }
    for (const struct dirent *e; (errno = 0, e = readdir(d));)
        if (e->d_name[0] != '.' && (!*first || strcmp(e->d_name, first) < 0) &&
            !ours(dirfd(d), e->d_name, names, key, value) && !our_folder(dir, e->d_name, names, key, value))
            snprintf(first, 256, "%s", e->d_name);
    const int error = errno;
    closedir(d);
    return error ? dg_fail(DG_IO, "%s: cannot be listed: %s", dir, strerror(error)) : DG_OK;
}

dg_err dg_refuse_other(const char *dir, const char *name)
{
    char shown[1024];
    return dg_fail(DG_USAGE,
                   DG_MSG("holds-other-files",
                          "%s: contains %s; images are written only into a folder that is new, empty, or has only "
                          "images of the same kind; choose another folder or add {force}"),
                   dir, dg_printable(shown, sizeof shown, name));
}

dg_err dg_only_ours(const char *dir, const char *const *names, const char *key, const char *value)
{
    char first[256]; /* bytewise smallest name, so that the order of readdir does not matter */
    const dg_err e = find_other(dir, names, key, value, first);
    return e || !*first ? e : dg_refuse_other(dir, first);
}

dg_err dg_only_origin(const char *dir, const char *const *names, const char *origin)
{
    char first[256], shown[1024];
    const dg_err e = find_other(dir, names, DG_ORIGIN, origin, first);
    if (e || !*first) return e;
    return dg_fail(DG_USAGE,
                   DG_MSG("holds-other-samples", "%s: contains %s, a sample of another checkpoint or of an older "
                                                 "dcgan; choose another {out} or add {force}"),
                   dir, dg_printable(shown, sizeof shown, first));
}
