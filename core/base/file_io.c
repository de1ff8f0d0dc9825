#include "core/base/file_io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

/* A temporary file is called ".NAME.PID-N.dcgan-tmp", or ".NAME.0-1.dcgan-tmp", which a writer tries first: so it comes
 * upon what one that was killed has left of the same file, in whichever directory. While it is being written its writer
 * holds a flock on it, so that what a killed process left can be told from what a living one is still writing, also
 * when process numbers repeat or belong to another container. */
static const char suffix[] = ".dcgan-tmp";

typedef struct {
    const char *path, *name; /* as given; its last component */
    char temp[NAME_MAX + 1];
    const dg_directory *given; /* the caller's directory, NULL: the path names it */
    int dir, fd;
    size_t bytes;
    bool replaces; /* an older file of this name is there */
} writer;

static size_t free_bytes(const writer *w, bool *inodes)
{
    struct statvfs v;
    *inodes = true;
    if (w->dir < 0 || fstatvfs(w->dir, &v)) return 0;
    *inodes = v.f_files == 0 || v.f_favail > 0; /* 0 files: the file system does not count them */
    return (size_t)v.f_bavail * (size_t)v.f_frsize;
}

/* One message for every step that can fail, from errno. */
static dg_err failed(const writer *w, const char *what)
{
    const int error = errno;
    const char *old = w->replaces ? "; the old file is untouched" : "";
    bool inodes;
    if (error == ENOSPC || error == EDQUOT || error == EFBIG) {
        size_t room = free_bytes(w, &inodes);
        const char *why = error == EDQUOT  ? "your disk quota is used up"
                          : error == EFBIG ? "larger than the file size limit (ulimit -f) or the file system allows"
                          : inodes         ? "the disk is full"
                                           : "the disk has no free inodes";
        char free_there[64] = ""; /* over NFS the figure is rounded up to blocks, and may be above what is needed */
        if (room < w->bytes) snprintf(free_there, sizeof free_there, ", %zu bytes free there", room);
        return dg_fail(DG_IO, "%s: %s: %zu bytes needed%s%s; make room, or write to another directory ({out})", w->path,
                       why, w->bytes, free_there, old);
    }
    if (error == EROFS)
        return dg_fail(DG_IO, "%s: the file system is read-only%s; write to another directory ({out})", w->path, old);
    return dg_fail(DG_IO, "%s: cannot %s: %s%s", w->path, what, strerror(error), old);
}

static const char *last_component(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The caller's directory, or the one that the path names, as a descriptor of our own. */
static dg_err open_directory(writer *w)
{
    if (w->given) {
        w->dir = fcntl(w->given->fd, F_DUPFD_CLOEXEC, 0);
    } else {
        const size_t n = (size_t)(w->name - w->path); /* with the slash */
        char *dir = n ? strndup(w->path, n > 1 ? n - 1 : 1) : strdup(".");
        if (!dir) return dg_fail(DG_DEVICE, "%s: out of memory", w->path);
        do w->dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        while (w->dir < 0 && errno == EINTR);
        free(dir);
    }
    return w->dir < 0 ? failed(w, "open its directory") : DG_OK;
}

/* Open the directory and look at what bears the name now. */
static dg_err begin(writer *w, struct stat *old)
{
    w->name = last_component(w->path);
    if (!*w->name || !strcmp(w->name, ".") || !strcmp(w->name, ".."))
        return dg_fail(DG_IO, "%s: is a directory, not a file name", *w->path ? w->path : "(empty name)");
    dg_err e = open_directory(w);
    if (e) return e;
    if (fstatat(w->dir, w->name, old, AT_SYMLINK_NOFOLLOW)) {
        memset(old, 0, sizeof *old);
        return errno == ENOENT ? DG_OK : failed(w, "look it up");
    }
    /* Renaming over /dev/null or a FIFO would destroy it; over a symbolic link it replaces the link only, so
     * that nothing is ever written outside the directory that was named. */
    if (!S_ISREG(old->st_mode) && !S_ISLNK(old->st_mode))
        return dg_fail(DG_IO, "%s: exists and is %s; give another name", w->path,
                       S_ISDIR(old->st_mode) ? "a directory" : "no regular file");
    w->replaces = S_ISREG(old->st_mode);
    if (!w->replaces || faccessat(w->dir, w->name, W_OK, AT_EACCESS) == 0) return DG_OK;
    if (errno != EACCES) return failed(w, "write to it");
    return dg_fail(DG_IO, "%s: is write-protected; give another name, or chmod u+w it", w->path);
}

/* Remove a temporary file unless a living process is writing it; true: it is gone. */
static bool remove_dead(int dir, const char *name)
{
    /* Opened for writing: over NFS flock becomes a lock of a byte range, and an exclusive one needs that. */
    const int fd = openat(dir, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat s, now;
    if (fd < 0) return false;
    /* What was opened may have got its own name before it was locked, and another writer taken this one. */
    const bool gone = fstat(fd, &s) == 0 && S_ISREG(s.st_mode) && flock(fd, LOCK_EX | LOCK_NB) == 0 &&
                      fstatat(dir, name, &now, AT_SYMLINK_NOFOLLOW) == 0 && now.st_dev == s.st_dev &&
                      now.st_ino == s.st_ino && unlinkat(dir, name, 0) == 0;
    close(fd);
    return gone;
}

static dg_err create(writer *w, const struct stat *old)
{
    static atomic_uint counter;
    bool first = true; /* of the two names */
    for (int tries = 0; tries < 100; tries++) {
        const unsigned n = first ? 1 : atomic_fetch_add(&counter, 1u);
        snprintf(w->temp, sizeof w->temp, ".%.200s.%ld-%u%s", w->name, first ? 0L : (long)getpid(), n, suffix);
        w->fd = openat(w->dir, w->temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (w->fd < 0 && errno == EINTR) continue;
        if (w->fd < 0 && errno == EEXIST) {
            first = first && remove_dead(w->dir, w->temp);
            continue;
        }
        if (w->fd < 0) return w->temp[0] = 0, failed(w, "create a temporary file beside it");
        struct stat s;
        /* A sweep that came between open and flock has removed the name: take the next one. */
        if (flock(w->fd, LOCK_EX) == 0 && fstat(w->fd, &s) == 0 && s.st_nlink == 0) {
            close(w->fd);
            w->fd = -1;
            continue;
        }
        if (w->replaces) {
            /* Root's checkpoint of a user's run stays the user's; where that is not allowed the mode decides. */
            bool same = old->st_uid == geteuid() && old->st_gid == getegid();
            if (!same && fchown(w->fd, old->st_uid, old->st_gid)) errno = 0;
            if (fchmod(w->fd, old->st_mode & 0777)) return failed(w, "set its mode");
        }
        return DG_OK;
    }
    w->temp[0] = 0;
    errno = EEXIST;
    return failed(w, "create a temporary file beside it");
}

/* Asking for the room first finds a full disk before anything is written. Where it is not supported the writes find it.
 */
static dg_err reserve(const writer *w)
{
#ifdef __linux__
    if (w->bytes && fallocate(w->fd, 0, 0, (off_t)w->bytes) && (errno == ENOSPC || errno == EDQUOT || errno == EFBIG))
        return failed(w, "reserve room for it");
#else
    (void)w;
#endif
    return DG_OK;
}

static dg_err fill(const writer *w, const dg_chunk *piece, int pieces)
{
    const dg_err room = reserve(w);
    if (room) return room;
    for (int i = 0; i < pieces; i++) {
        const char *at = piece[i].data;
        for (size_t left = piece[i].bytes; left;) {
            ssize_t n = write(w->fd, at, left < 1u << 30 ? left : 1u << 30);
            if (n < 0 && errno == EINTR) continue;
            if (n == 0) errno = EIO; /* never for a regular file; not an endless loop either */
            if (n <= 0) return failed(w, "write it");
            at += n;
            left -= (size_t)n;
        }
    }
    return DG_OK;
}

/* Some file systems have nothing to do for a directory and say EINVAL or ENOSYS. */
int dg_sync_directory(int dir) { return fsync(dir) && errno != EINVAL && errno != ENOSYS ? -1 : 0; }

static dg_err commit(writer *w)
{
    /* Once only: after a failed fsync the pages are marked clean, and a second one would lie. */
    if (fsync(w->fd)) return failed(w, "bring it to the disk (fsync)");
    if (w->given && w->given->lock >= 0 && dg_leads_to(w->dir, w->given->lock_name, w->given->lock) == DG_SAME_NO)
        return dg_fail(DG_IO, "%s: is not written, because %s was removed", w->path, w->given->lock_name);
    /* Renamed while the lock is held, or a sweep could take the file between close and rename. */
    if (renameat(w->dir, w->temp, w->dir, w->name)) return failed(w, "rename the temporary file to it");
    w->temp[0] = 0;
    int closed = close(w->fd);
    w->fd = -1;
    w->replaces = false; /* from here on the new file bears the name */
    if (closed && errno != EINTR) return failed(w, "close it");
    if (dg_sync_directory(w->dir))
        return failed(w, "bring its directory to the disk (fsync); the file may be lost in a power failure");
    return DG_OK;
}

dg_err dg_write_atomic(const char *path, const dg_chunk *piece, int pieces)
{
    return dg_write_atomic_in(NULL, path, piece, pieces);
}

dg_err dg_write_atomic_in(const dg_directory *dir, const char *path, const dg_chunk *piece, int pieces)
{
    writer w = {.path = path, .given = dir, .dir = -1, .fd = -1};
    for (int i = 0; i < pieces; i++) w.bytes += piece[i].bytes;

    /* Passing the limit of RLIMIT_FSIZE raises SIGXFSZ, which kills; here it becomes EFBIG. What ends a program waits
     * until the temporary file is gone. */
    sigset_t limit, held, before, pending;
    sigemptyset(&limit);
    sigaddset(&limit, SIGXFSZ);
    held = limit;
    for (int i = 0; i < 3; i++) sigaddset(&held, (const int[]){SIGHUP, SIGINT, SIGTERM}[i]);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &held, &before);

    struct stat old;
    dg_err e = begin(&w, &old);
    if (!e) e = create(&w, &old);
    if (!e) e = fill(&w, piece, pieces);
    if (!e) e = commit(&w);
    if (w.temp[0]) unlinkat(w.dir, w.temp, 0);
    if (w.fd >= 0) close(w.fd);
    if (w.dir >= 0) close(w.dir);

    if (!sigismember(&pending, SIGXFSZ)) sigtimedwait(&limit, NULL, &(struct timespec){0, 0});
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return e;
}

dg_same dg_leads_to(int dir, const char *name, int fd)
{
    struct stat a, b;
    if (fstatat(dir, name, &a, 0)) return errno == ENOENT || errno == ENOTDIR ? DG_SAME_NO : DG_SAME_UNKNOWN;
    if (fstat(fd, &b)) return DG_SAME_UNKNOWN;
    return a.st_dev == b.st_dev && a.st_ino == b.st_ino ? DG_SAME_YES : DG_SAME_NO;
}

/* ".NAME.PID-N.dcgan-tmp"? */
static bool is_temporary(const char *name)
{
    size_t n = strlen(name), k = sizeof suffix - 1;
    if (name[0] != '.' || n <= k + 1 || strcmp(name + n - k, suffix) != 0) return false;
    const char *s = name + n - k, *digits = s;
    while (s > name && s[-1] >= '0' && s[-1] <= '9') s--;
    if (s == digits || s == name || s[-1] != '-') return false;
    digits = --s;
    while (s > name && s[-1] >= '0' && s[-1] <= '9') s--;
    return s != digits && s > name + 2 && s[-1] == '.';
}

DIR *dg_list_directory(int dir)
{
    const int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* not dup: its position would be shared */
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d && fd >= 0) close(fd);
    return d;
}

void dg_sweep_temporaries(int dir)
{
    DIR *d = dg_list_directory(dir);
    if (!d) return;
    for (struct dirent *entry; (entry = readdir(d));)
        if (is_temporary(entry->d_name)) (void)remove_dead(dirfd(d), entry->d_name);
    closedir(d);
}

dg_err dg_read_file(const char *path, size_t limit, void **data, size_t *bytes)
{
    return dg_read_file_in(-1, path, limit, data, bytes);
}

/* A regular file of at most `limit` bytes; never blocks on a FIFO. */
static dg_err open_regular(int dir, const char *path, size_t limit, int *fd, size_t *bytes)
{
    const int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    struct stat s;
    dg_err e = DG_OK;
    *bytes = 0;
    do *fd = dir < 0 ? open(path, flags) : openat(dir, last_component(path), flags);
    while (*fd < 0 && errno == EINTR);
    if (*fd < 0) return dg_fail(DG_IO, "%s: cannot open it: %s", path, strerror(errno));
    if (fstat(*fd, &s)) e = dg_fail(DG_IO, "%s: cannot look at it: %s", path, strerror(errno));
    else if (!S_ISREG(s.st_mode))
        e = dg_fail(DG_IO, "%s: is %s", path, S_ISDIR(s.st_mode) ? "a directory, not a file" : "no regular file");
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
    return open_regular(-1, path, limit, fd, bytes);
}

ssize_t dg_read_some(int fd, void *to, size_t n)
{
    size_t got = 0;
    while (got < n) {
        const ssize_t now = read(fd, (char *)to + got, n - got < 1u << 30 ? n - got : 1u << 30);
        if (now < 0 && errno == EINTR) continue;
        if (now < 0) return -1;
        if (now == 0) break;
        got += (size_t)now;
    }
    return (ssize_t)got;
}

dg_err dg_read_next(int fd, const char *path, void *to, size_t n)
{
    const ssize_t got = dg_read_some(fd, to, n);
    if (got < 0) return dg_fail(DG_IO, "%s: cannot read it: %s", path, strerror(errno));
    return (size_t)got == n ? DG_OK : dg_fail(DG_IO, "%s: changed while it was being read", path);
}

dg_err dg_read_file_in(int dir, const char *path, size_t limit, void **data, size_t *bytes)
{
    int fd;
    char more, *memory = NULL;
    *data = NULL;
    dg_err e = open_regular(dir, path, limit, &fd, bytes);
    if (e) return e;
    memory = malloc(*bytes + 1);
    e = memory ? dg_read_next(fd, path, memory, *bytes)
               : dg_fail(DG_DEVICE, "%s: out of memory for its %zu bytes", path, *bytes);
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
