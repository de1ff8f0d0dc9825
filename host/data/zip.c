#include "host/data/zip.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool dg_zip_inside(const char *path)
{
    char head[4] = "";
    struct stat s;
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) return false;
    const bool whole = !fstat(fd, &s) && S_ISREG(s.st_mode) && read(fd, head, 4) == 4;
    close(fd);
    return whole && (!memcmp(head, "PK\3\4", 4) || !memcmp(head, "PK\5\6", 4));
}

static int remove_one(const char *path, const struct stat *s, int type, struct FTW *at)
{
    (void)s, (void)type, (void)at;
    return remove(path);
}

void dg_zip_remove(const char *folder)
{
    if (nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS))
        dg_warn("%s: cannot be removed: %s", folder, strerror(errno));
}

#ifdef HAVE_ZIP
#include <zip.h>

/* Of all that is unpacked, and of one file: more is no folder of pictures but a trap. */
static const uint64_t ALL_MOST = (uint64_t)64 << 30, FILE_MOST = (uint64_t)1 << 30;

typedef struct {
    const char *path;
    zip_t *zip;
    int folder;
    uint64_t bytes;
    int left_out;
} archive;

/* "a/b.png", neither from the root nor upwards. */
static bool stays_inside(const char *name)
{
    if (!*name || *name == '/' || strlen(name) >= DG_ZIP_PATH) return false;
    for (const char *s = name; *s; s += strcspn(s, "/"), s += *s == '/')
        if (!strncmp(s, "..", 2) && (s[2] == '/' || !s[2])) return false;
    return true;
}

static dg_err no_room(const archive *a, const char *name)
{
    char shown[1024];
    return dg_fail(DG_IO, "%s: cannot unpack %s: %s; TMPDIR names the folder for that", a->path,
                   dg_printable(shown, sizeof shown, name), strerror(errno));
}

static dg_err make_folders(const archive *a, const char *name)
{
    char path[DG_ZIP_PATH];
    snprintf(path, sizeof path, "%s", name);
    for (char *s = path; (s = strchr(s, '/')); *s++ = '/') {
        *s = 0;
        if (mkdirat(a->folder, path, 0700) && errno != EEXIST) return no_room(a, name);
    }
    return DG_OK;
}

static bool write_whole(int fd, const char *data, size_t bytes)
{
    while (bytes) {
        const ssize_t n = write(fd, data, bytes);
        if (n < 0) return false;
        data += n;
        bytes -= (size_t)n;
    }
    return true;
}

/* What is damaged ends early: whoever reads the picture says so. */
static dg_err copy(archive *a, zip_file_t *from, int to, const char *name)
{
    char data[1 << 16];
    uint64_t bytes = 0;
    for (zip_int64_t n; (n = zip_fread(from, data, sizeof data)) > 0;) {
        bytes += (uint64_t)n;
        if (bytes > FILE_MOST || (a->bytes += (uint64_t)n) > ALL_MOST)
            return dg_fail(DG_DATA, "%s: more than 1 GiB in a file of it, or 64 in all: unzip it, and give the folder",
                           a->path);
        if (!write_whole(to, data, (size_t)n)) return no_room(a, name);
    }
    return DG_OK;
}

static dg_err unpack_file(archive *a, zip_uint64_t i, const char *name, const zip_stat_t *s)
{
    dg_err e = make_folders(a, name);
    if (e || name[strlen(name) - 1] == '/') return e;
    zip_file_t *from = zip_fopen_index(a->zip, i, 0);
    if (!from) {
        a->left_out++; /* it has a password, or a way of packing that libzip does not know */
        return DG_OK;
    }
    const int to = openat(a->folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (to >= 0) e = copy(a, from, to, name);
    else if (errno == EEXIST || errno == EISDIR || errno == ENOTDIR) a->left_out++;
    else e = no_room(a, name);
    const struct timespec when = {.tv_sec = s->valid & ZIP_STAT_MTIME ? s->mtime : 0};
    if (to >= 0 && (futimens(to, (struct timespec[]){when, when}) | close(to)) && !e) e = no_room(a, name);
    zip_fclose(from);
    return e;
}

static dg_err unpack_all(archive *a)
{
    const zip_int64_t n = zip_get_num_entries(a->zip, 0);
    dg_err e = DG_OK;
    for (zip_int64_t i = 0; i < n && !e; i++) {
        zip_stat_t s;
        const char *name = zip_get_name(a->zip, (zip_uint64_t)i, ZIP_FL_ENC_RAW);
        const bool good = name && stays_inside(name) && !zip_stat_index(a->zip, (zip_uint64_t)i, 0, &s);
        if (good) e = unpack_file(a, (zip_uint64_t)i, name, &s);
        else a->left_out++;
    }
    if (!e && a->left_out)
        dg_warn(
            "%s: %d of its files left out, for a password, a name that leads out of it or that another has, or damage",
            a->path, a->left_out);
    return e;
}

static dg_err open_zip(archive *a)
{
    int code;
    zip_error_t error;
    a->zip = zip_open(a->path, ZIP_RDONLY, &code);
    if (a->zip) return DG_OK;
    zip_error_init_with_code(&error, code);
    const dg_err e = dg_fail(code == ZIP_ER_MEMORY ? DG_DEVICE : DG_DATA, "%s: %s", a->path,
                             zip_error_strerror(&error));
    zip_error_fini(&error);
    return e;
}

dg_err dg_zip_unpack(const char *path, char folder[DG_ZIP_PATH])
{
    const char *where = getenv("TMPDIR");
    archive a = {.path = path};
    dg_err e = open_zip(&a);
    if (e) return e;
    snprintf(folder, DG_ZIP_PATH, "%.4000s/dcgan-zip-XXXXXX", where && *where ? where : "/var/tmp");
    if (!mkdtemp(folder)) e = no_room(&a, folder);
    if (!e) {
        a.folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        e = a.folder < 0 ? no_room(&a, folder) : unpack_all(&a);
        if (a.folder >= 0) close(a.folder);
        if (e) dg_zip_remove(folder);
    }
    zip_discard(a.zip);
    return e;
}

#else

dg_err dg_zip_unpack(const char *path, char folder[DG_ZIP_PATH])
{
    (void)folder;
    return dg_fail(DG_DATA,
                   "%s: is a zip file: this dcgan was built without libzip (install libzip-dev, make clean, make); "
                   "unzip it, and give the folder",
                   path);
}

#endif
