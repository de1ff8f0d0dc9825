#include "core/base/file_io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

/* A temporary file is called ".NAME.PID-N.dcgan-tmp". Every writer first tries ".NAME.0-1.dcgan-tmp", so that it finds
 * and removes the file of a killed writer. A writer holds a flock on its temporary file, because a PID does not
 * identify a writer in another container. */
static const char suffix[] = ".dcgan-tmp";

static const dg_output_rule *output_rule;

void dg_set_output_rule(const dg_output_rule *rule) { output_rule = rule; }

int dg_output_descriptor(const char *path) { return output_rule ? output_rule->descriptor(path) : -1; }

typedef struct {
    const char *path, *name;
    const char *real; /* path, or the target if path is a symbolic link */
    char temp[NAME_MAX + 1];
    const char *elsewhere;     /* advice for a full disk, or NULL */
    const dg_directory *given; /* directory opened by the caller; if NULL, the directory part of `path` */
    int dir, fd;
    size_t bytes;
    bool replaces;
    int error;
} writer;

static size_t free_bytes(const writer *w, bool *inodes)
{
    struct statvfs v;
    *inodes = true;
    if (w->dir < 0 || fstatvfs(w->dir, &v)) return 0;
    *inodes = v.f_files == 0 || v.f_favail > 0; /* f_files is 0 if the file system does not count inodes */
    return (size_t)v.f_bavail * (size_t)v.f_frsize;
}

bool dg_may_pass(int error)
{
    static const int passing[] = {EIO,     EINTR,     ESTALE,       EAGAIN,   EBUSY,       ETIMEDOUT,  EREMOTEIO, ECOMM,
                                  ENOLINK, EHOSTDOWN, EHOSTUNREACH, ENETDOWN, ENETUNREACH, ECONNRESET, ENOTCONN};
    for (size_t i = 0; i < sizeof passing / sizeof *passing; i++)
        if (error == passing[i]) return true;
    return false;
}

bool dg_try_soon(int error, int tries)
{
    if (!dg_may_pass(error) || tries >= 3) return false;
    nanosleep(&(struct timespec){.tv_nsec = 10000000L << 2 * tries}, NULL);
    return true;
}

static dg_err failed(writer *w, const char *what)
{
    const int error = w->error = errno;
    const char *old = w->replaces ? "; the old file is untouched" : "";
    bool inodes;
    if (error == ENOSPC || error == EDQUOT || error == EFBIG) {
        size_t room = free_bytes(w, &inodes);
        const char *why = error == EDQUOT  ? "your disk quota is used up"
                          : error == EFBIG ? "the file would be larger than ulimit -f or the file system allows"
                          : inodes         ? "the disk is full"
                                           : "the disk has no free inodes";
        char free_there[64] = ""; /* empty if statvfs reports enough free bytes, as it may over NFS */
        if (room < w->bytes) snprintf(free_there, sizeof free_there, ", but only %zu bytes are free", room);
        return dg_fail(DG_IO, DG_MSG("disk-space", "%s: %s: %zu bytes needed%s%s; make room, or %s"), w->path, why,
                       w->bytes, free_there, old, w->elsewhere ? w->elsewhere : "write to another directory ({out})");
    }
    if (error == EROFS)
        return dg_fail(DG_IO, "%s: the file system is read-only%s; write to another directory ({out})", w->path, old);
    return dg_fail(DG_IO, "%s: cannot %s: %s%s", w->path, what, strerror(error), old);
}

static dg_err open_directory(writer *w)
{
    if (w->given) {
        w->dir = fcntl(w->given->fd, F_DUPFD_CLOEXEC, 0);
    } else {
        const size_t n = (size_t)(w->name - w->real);
        char *dir = n ? strndup(w->real, n > 1 ? n - 1 : 1) : strdup(".");
        if (!dir) return dg_fail(DG_DEVICE, "%s: out of memory", w->path);
        do w->dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        while (w->dir < 0 && errno == EINTR);
        free(dir);
    }
    return w->dir < 0 ? failed(w, "open its directory") : DG_OK;
}

/* For a full disk, if the file is one of decoded images. */
static const char images_elsewhere[] = "set TMPDIR, or give {cache} FILE";

static dg_err begin(writer *w, struct stat *old)
{
    w->name = dg_last_component(w->real);
    if (!*w->name || !strcmp(w->name, ".") || !strcmp(w->name, ".."))
        return dg_fail(DG_IO, "%s: is a directory, not a file name", *w->path ? w->path : "(empty name)");
    dg_err e = open_directory(w);
    if (e) return e;
    if (fstatat(w->dir, w->name, old, AT_SYMLINK_NOFOLLOW)) {
        memset(old, 0, sizeof *old);
        return errno == ENOENT ? DG_OK : failed(w, "read its attributes");
    }
    /* A rename over /dev/null or a FIFO would destroy it. */
    if (!S_ISREG(old->st_mode) && !S_ISLNK(old->st_mode))
        return dg_fail(DG_IO, DG_MSG("exists-as", "%s: exists and is %s; give another name"), w->path,
                       S_ISDIR(old->st_mode) ? "a directory" : "not a regular file");
    w->replaces = S_ISREG(old->st_mode);
    if (!w->replaces || faccessat(w->dir, w->name, W_OK, AT_EACCESS) == 0) return DG_OK;
    if (errno != EACCES) return failed(w, "write to it");
    return dg_fail(DG_IO, "%s: is write-protected; give another name, or make the file writable (chmod u+w)", w->path);
}

/* Removes a temporary file unless a living process is writing it. Returns true if the file is gone. */
static bool remove_dead(int dir, const char *name)
{
    /* O_RDWR, because over NFS flock is a byte-range lock, which is exclusive only for a writer. */
    const int fd = openat(dir, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat s, now;
    if (fd < 0) return false;
    /* By now, the name may belong to a new file, because the writer may have renamed the opened one. */
    const bool gone = fstat(fd, &s) == 0 && S_ISREG(s.st_mode) && flock(fd, LOCK_EX | LOCK_NB) == 0 &&
                      fstatat(dir, name, &now, AT_SYMLINK_NOFOLLOW) == 0 && now.st_dev == s.st_dev &&
                      now.st_ino == s.st_ino && unlinkat(dir, name, 0) == 0;
    close(fd);
    return gone;
}

static dg_err create(writer *w, const struct stat *old)
{
    static atomic_uint counter;
    bool first = true;
    for (int tries = 0; tries < 100; tries++) {
        const unsigned n = first ? 1 : atomic_fetch_add(&counter, 1u);
        snprintf(w->temp, sizeof w->temp, ".%.200s.%ld-%u%s", w->name, first ? 0L : (long)getpid(), n, suffix);
        w->fd = openat(w->dir, w->temp, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (w->fd < 0 && errno == EINTR) continue;
        if (w->fd < 0 && errno == EEXIST) {
            first = first && remove_dead(w->dir, w->temp);
            continue;
        }
        if (w->fd < 0) return w->temp[0] = 0, failed(w, "create a temporary file in the same directory");
        struct stat s;
        /* If another process removed the temporary file between open and flock, the loop creates a new one. */
        if (flock(w->fd, LOCK_EX) == 0 && fstat(w->fd, &s) == 0 && s.st_nlink == 0) {
            close(w->fd);
            w->fd = -1;
            continue;
        }
        if (w->replaces) {
            /* A file that root rewrites keeps its owner. Where chown is not allowed, only the mode is copied. */
            bool same = old->st_uid == geteuid() && old->st_gid == getegid();
            if (!same && fchown(w->fd, old->st_uid, old->st_gid)) errno = 0;
            if (fchmod(w->fd, old->st_mode & 0777)) return failed(w, "set its mode");
        }
        return DG_OK;
    }
    w->temp[0] = 0;
    errno = EEXIST;
    return failed(w, "create a temporary file in the same directory");
}

/* Reserves disk space, so that a full disk is reported before anything is written. */
static dg_err reserve(writer *w)
{
#ifdef __linux__
    if (w->bytes && fallocate(w->fd, 0, 0, (off_t)w->bytes) && (errno == ENOSPC || errno == EDQUOT || errno == EFBIG))
        return failed(w, "reserve disk space for the file");
#else
    (void)w;
#endif
    return DG_OK;
}

static dg_err fill(writer *w, const dg_chunk *piece, int pieces)
{
    const dg_err room = reserve(w);
    if (room) return room;
    for (int i = 0; i < pieces; i++) {
        const char *at = piece[i].data;
        for (size_t left = piece[i].bytes; left;) {
            ssize_t n = write(w->fd, at, left < 1u << 30 ? left : 1u << 30);
            if (n < 0 && errno == EINTR) continue;
            if (n == 0) errno = EIO;
            if (n <= 0) return failed(w, "write it");
            at += n;
            left -= (size_t)n;
        }
    }
    return DG_OK;
}

/* True if the temporary file has been renamed although rename() failed. NFS repeats a rename whose answer was lost, and
 * the repeated rename fails. */
static bool is_renamed(const writer *w)
{
    const int error = errno;
    struct stat a, b;
    const bool same = !fstat(w->fd, &a) && !fstatat(w->dir, w->name, &b, AT_SYMLINK_NOFOLLOW) && a.st_dev == b.st_dev &&
                      a.st_ino == b.st_ino;
    errno = error;
    return same;
}

/* Checks the file that the rename will replace. *fresh is true if the output file does not exist. */
static dg_err check_old(writer *w, const dg_chunk *piece, int pieces, bool *fresh)
{
    *fresh = false;
    if (w->given || !output_rule) return DG_OK;
    const int old = openat(w->dir, w->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    *fresh = old < 0 && errno == ENOENT;
    if (old < 0) return *fresh ? DG_OK : failed(w, "read the existing file of this name");
    const dg_err e = output_rule->may_replace(old, w->path, piece, pieces);
    close(old);
    return e;
}

/* Returns 0, or -1 with errno, which is EEXIST if another process created the output file after check_old().
 * Without RENAME_NOREPLACE, the other process's file is overwritten. */
static int give_name(const writer *w, bool fresh)
{
#ifdef RENAME_NOREPLACE
    if (fresh) {
        if (!renameat2(w->dir, w->temp, w->dir, w->name, RENAME_NOREPLACE)) return 0;
        if (errno != EINVAL && errno != ENOSYS) return -1;
    }
#else
    (void)fresh;
#endif
    return renameat(w->dir, w->temp, w->dir, w->name);
}

static dg_err commit(writer *w, const dg_chunk *piece, int pieces)
{
    if (fsync(w->fd)) return failed(w, "sync the file to the disk (fsync)");
    if (w->given && w->given->lock >= 0 && dg_leads_to(w->dir, w->given->lock_name, w->given->lock) == DG_SAME_NO)
        return dg_fail(DG_IO, "%s: not written, because %s was removed", w->path, w->given->lock_name);
    bool fresh;
    dg_err e = check_old(w, piece, pieces, &fresh);
    if (e) return e;
    /* The lock is released after the rename, because another process can remove an unlocked temporary file. */
    int named = give_name(w, fresh);
    if (named && errno == EEXIST && fresh && !is_renamed(w)) {
        e = check_old(w, piece, pieces, &fresh);
        if (e) return e;
        named = give_name(w, fresh);
    }
    if (named && !is_renamed(w)) return failed(w, "rename the temporary file to this name");
    w->temp[0] = 0;
    int closed = close(w->fd);
    w->fd = -1;
    w->replaces = false;
    if (closed && errno != EINTR) return failed(w, "close it");
    if (dg_sync_directory(w->dir))
        return failed(w, "sync the directory of the file to the disk (fsync); a power failure may lose the file");
    return DG_OK;
}

dg_err dg_write_atomic(const char *path, const dg_chunk *piece, int pieces)
{
    return dg_write_atomic_in(NULL, path, piece, pieces);
}

static dg_err write_once(writer w, const dg_chunk *piece, int pieces, int *error)
{
    struct stat old;
    dg_err e = begin(&w, &old);
    if (!e) e = create(&w, &old);
    if (!e) e = fill(&w, piece, pieces);
    if (!e) e = commit(&w, piece, pieces);
    if (w.temp[0]) unlinkat(w.dir, w.temp, 0);
    if (w.fd >= 0) close(w.fd);
    if (w.dir >= 0) close(w.dir);
    *error = w.error;
    return e;
}

/* Signals that a limit on the file size would raise are blocked. */
typedef struct {
    sigset_t limit, before;
    bool pending;
} held;

static held hold(void)
{
    held h;
    sigset_t pending;
    sigemptyset(&h.limit);
    sigaddset(&h.limit, SIGXFSZ);
    sigpending(&pending);
    h.pending = sigismember(&pending, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &h.limit, &h.before);
    return h;
}

static void let_go(const held *h)
{
    const int error = errno;
    if (!h->pending) sigtimedwait(&h->limit, NULL, &(struct timespec){0, 0});
    pthread_sigmask(SIG_SETMASK, &h->before, NULL);
    errno = error;
}

static dg_err write_file(const writer *w, const dg_chunk *piece, int pieces)
{
    /* SIGXFSZ is blocked, so that exceeding RLIMIT_FSIZE fails with EFBIG and does not kill the process. Signals that
     * end the process are blocked until the temporary file is renamed or removed. */
    static const int ending[] = {SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU};
    const held h = hold();
    sigset_t more;
    sigemptyset(&more);
    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++) sigaddset(&more, ending[i]);
    pthread_sigmask(SIG_BLOCK, &more, NULL);

    dg_err e;
    int tries = 0, error = 0;
    do e = write_once(*w, piece, pieces, &error);
    while (e && dg_try_soon(error, tries++));

    let_go(&h);
    return e;
}

dg_err dg_write_atomic_in(const dg_directory *dir, const char *path, const dg_chunk *piece, int pieces)
{
    writer w = {.path = path, .real = path, .given = dir, .dir = -1, .fd = -1};
    char *target = NULL;
    for (int i = 0; i < pieces; i++) w.bytes += piece[i].bytes;
    if (!dir && output_rule) {
        const int fd = dg_output_descriptor(path);
        dg_err e = DG_OK;
        if (fd >= 0) return dg_stream_to(fd, path, piece, pieces);
        if (dg_stream_file(path, piece, pieces, &e)) return e;
        e = dg_link_target(path, &target);
        if (e) return e;
        if (target) w.real = target;
    }
    const dg_err e = write_file(&w, piece, pieces);
    free(target);
    return e;
}

struct dg_new_file {
    writer w;
    char *path, *target;
};

void dg_new_file_discard(dg_new_file *f)
{
    if (!f) return;
    if (f->w.temp[0]) unlinkat(f->w.dir, f->w.temp, 0);
    if (f->w.fd >= 0) close(f->w.fd);
    if (f->w.dir >= 0) close(f->w.dir);
    free(f->path);
    free(f->target);
    free(f);
}

dg_err dg_new_file_open(const char *path, size_t bytes, dg_new_file **out, int *fd)
{
    struct stat old;
    dg_new_file *f = *out = calloc(1, sizeof *f);
    *fd = -1;
    if (!f || !(f->path = strdup(path))) {
        free(f);
        *out = NULL;
        return dg_fail(DG_DEVICE, "%s: out of memory", path);
    }
    f->w = (writer){.path = f->path, .real = f->path, .dir = -1, .fd = -1, .bytes = bytes};
    dg_err e = output_rule ? dg_link_target(path, &f->target) : DG_OK;
    if (f->target) f->w.real = f->target;
    const held h = hold();
    if (!e) e = begin(&f->w, &old);
    if (!e) e = create(&f->w, &old);
    if (!e) e = reserve(&f->w);
    if (!e && (*fd = fcntl(f->w.fd, F_DUPFD_CLOEXEC, 0)) < 0) e = failed(&f->w, "open it");
    let_go(&h);
    if (!e) return DG_OK;
    dg_new_file_discard(f);
    *out = NULL;
    return e;
}

dg_err dg_new_file_commit(dg_new_file *f, dg_chunk head) { return commit(&f->w, &head, 1); }

dg_err dg_nameless_open(size_t bytes, char **path, int *fd)
{
    const char *dir = getenv("TMPDIR");
    if (!dir || !*dir) dir = "/var/tmp";
    const size_t n = strlen(dir) + sizeof "/dcgan-XXXXXX";
    *fd = -1;
    *path = malloc(n);
    if (!*path) return dg_fail(DG_DEVICE, "out of memory");
    snprintf(*path, n, "%s/dcgan-XXXXXX", dir);
    writer w = {.path = *path, .dir = -1, .bytes = bytes, .elsewhere = images_elsewhere};
    const held h = hold();
    *fd = w.fd = mkostemp(*path, O_CLOEXEC);
    dg_err e = *fd < 0 ? dg_fail(DG_IO, DG_MSG("no-temporary", "%s: cannot create a temporary file: %s; set TMPDIR"),
                                 dir, strerror(errno))
                       : DG_OK;
    if (!e) unlink(*path);
    w.dir = *fd; /* of the same file system, for the message about free space */
    if (!e) e = reserve(&w);
    let_go(&h);
    if (!e) return DG_OK;
    if (*fd >= 0) close(*fd);
    free(*path);
    *path = NULL;
    *fd = -1;
    return e;
}

dg_err dg_write_at(int fd, const char *path, const void *data, size_t n, int64_t at)
{
    const char *from = data;
    const held h = hold();
    writer w = {.path = path, .dir = fd, .bytes = n, .elsewhere = images_elsewhere};
    dg_err e = DG_OK;
    for (int tries = 0; n && !e;) {
        const ssize_t done = pwrite(fd, from, n < 1u << 30 ? n : 1u << 30, (off_t)at);
        if (done < 0 && errno == EINTR) continue;
        if (!done) errno = EIO;
        if (done > 0) from += done, at += done, n -= (size_t)done;
        else if (!dg_try_soon(errno, tries++)) e = failed(&w, "write it");
    }
    let_go(&h);
    return e;
}

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

void dg_sweep_temporaries(int dir)
{
    DIR *d = dg_list_directory(dir);
    if (!d) return;
    for (struct dirent *entry; (entry = readdir(d));)
        if (is_temporary(entry->d_name)) (void)remove_dead(dirfd(d), entry->d_name);
    closedir(d);
}
