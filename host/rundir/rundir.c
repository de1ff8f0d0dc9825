#include "host/rundir/rundir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/file_io.h"
#include "core/base/shell.h"
#include "host/files/tfevents.h"
#include "host/rundir/log_text.h"

enum { NAME_ROOM = 64 };

/* Sync the parents of `made` created directories, starting with the parent of `dir`, so that the directories survive a
 * power failure. Unreadable parents are skipped. */
static void sync_made(int dir, int made)
{
    int at = dir;
    for (int i = 0; i < made && at >= 0; i++) {
        const int above = openat(at, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (at != dir) close(at);
        if (above >= 0) (void)dg_sync_directory(above);
        at = above;
    }
    if (at >= 0 && at != dir) close(at);
}

static int has_like(int dir, const char *const *pattern)
{
    DIR *d = dg_list_directory(dir);
    if (!d) return -1;
    int found = 0;
    for (struct dirent *e; (errno = 0, e = readdir(d));)
        for (const char *const *p = pattern; *p; p++) found |= fnmatch(*p, e->d_name, 0) == 0;
    const int error = errno;
    closedir(d);
    errno = error;
    return error ? -1 : found;
}

static int holds_run(int dir)
{
    return has_like(dir,
                    (const char *const[]){"config.ini", "checkpoint.safetensors", "checkpoint-*.safetensors", NULL});
}

static const char *const logs[] = {"log.csv", "log.jsonl"};
static const char session[] = "session.json", events[] = "events.out.tfevents.run";

/* True for a log without rows, which an interrupted start leaves. */
static bool is_empty_log(const dg_rundir *r, const char *name)
{
    void *text;
    size_t bytes;
    if (dg_read_own_in(r->fd, name, 4096, &text, &bytes)) return false;
    const bool empty = dg_log_is_empty(text);
    free(text);
    return empty;
}

static bool is_session(const dg_rundir *r)
{
    static const char begin[] = "{\n\t\"version\":\t\"dcgan ";
    void *text;
    size_t bytes;
    if (!dg_rundir_has(r, "%s", session) || dg_read_own_in(r->fd, session, 4096, &text, &bytes)) return false;
    const bool own = !strncmp(text, begin, strlen(begin));
    free(text);
    return own;
}

/* Returns 1 if the directory has results that must not be overwritten, 0 if not, -1 (errno) after an error. */
static int has_results(const dg_rundir *r)
{
    for (int i = 0; i < 2; i++)
        if (dg_rundir_has(r, "%s", logs[i]) && !is_empty_log(r, logs[i])) return 1;
    if (dg_rundir_has(r, "%s", events) && !dg_tfevents_is_empty(r->fd, events)) return 1;
    return has_like(r->fd, (const char *const[]){"epoch-*.png", "curves.png", "best.safetensors",
                                                 "checkpoint-best.safetensors", "worst.png", NULL});
}

bool dg_rundir_has_results(const dg_rundir *r) { return has_results(r) != 0; }

static void remove_start(const dg_rundir *r)
{
    for (int i = 0; i < 2; i++)
        if (is_empty_log(r, logs[i])) unlinkat(r->fd, logs[i], 0);
    if (dg_tfevents_is_empty(r->fd, events)) unlinkat(r->fd, events, 0);
    if (is_session(r)) unlinkat(r->fd, session, 0);
}

static void sleep_ms(long ms) { nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL); }

static void write_owner(int fd)
{
    char host[256] = "?", when[64] = "?", text[400];
    time_t now = time(NULL);
    struct tm tm;
    gethostname(host, sizeof host - 1);
    if (localtime_r(&now, &tm)) (void)strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S %z", &tm);
    int n = snprintf(text, sizeof text, "host %s\npid %ld\nstarted %s\n", host, (long)getpid(), when);
    /* The text in the lock file is only for messages of other runs. */
    if (ftruncate(fd, 0) || pwrite(fd, text, (size_t)n, 0) != n) errno = 0;
}

/* The lock file may briefly name an earlier, killed run. */
static dg_err locked(const char *path, int fd)
{
    char text[400] = "", host[256] = "", when[64] = "", here[256] = "", number[16] = "";
    gethostname(here, sizeof here - 1);
    for (int tries = 0; tries < 50; tries++) {
        sleep_ms(10);
        ssize_t n = pread(fd, text, sizeof text - 1, 0);
        text[n > 0 ? n : 0] = 0;
        if (sscanf(text, "host %255[^\n]\npid %15[0-9]\nstarted %63[^\n]", host, number, when) != 3) continue;
        long pid = strtol(number, NULL, 10);
        if (strcmp(host, here) != 0 || kill((pid_t)pid, 0) == 0 || errno != ESRCH)
            return dg_fail(DG_LOCKED,
                           DG_MSG("run-in-use", "%s: in use by process %ld on %s since %s; wait until it ends, or "
                                                "choose another directory with {out}"),
                           path, pid, host, when);
    }
    return dg_fail(DG_LOCKED, "%s: in use by another run; wait until it ends, or choose another directory with {out}",
                   path);
}

/* Set *again if a failed run has removed the lock file or the directory. */
static dg_err take_lock(dg_rundir *r, bool *again)
{
    char file[4096];
    struct stat s;
    dg_rundir_file(r, file, "run.lock");
    *again = false;
    const int fd = openat(r->fd, "run.lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
    if (fd < 0) {
        *again = errno == ENOENT;
        return dg_fail(DG_IO, "%s: cannot open the lock of the run directory: %s", file, strerror(errno));
    }
    r->lock = fd;
    if (fstat(fd, &s) || !S_ISREG(s.st_mode)) return dg_fail(DG_IO, "%s: is not a regular file; remove it", file);
    if (s.st_nlink > 1)
        return dg_fail(DG_IO, "%s: has %ju hard links, so this file may not be the lock of this run; remove the file",
                       file, (uintmax_t)s.st_nlink);
    /* An open file description lock is not released when another descriptor of the file is closed. */
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(fd, F_OFD_SETLK, &whole)) {
        if (errno == EAGAIN || errno == EACCES) return locked(r->path, fd);
        dg_warn("the run is not locked: %s: no lock on this file system (%s); do not start two runs in this directory",
                file, strerror(errno));
    }
    *again = dg_leads_to(r->fd, "run.lock", fd) != DG_SAME_YES || dg_leads_to(AT_FDCWD, r->path, r->fd) != DG_SAME_YES;
    if (*again) return dg_fail(DG_IO, "%s: was removed while this run started", r->path);
    write_owner(fd);
    return DG_OK;
}

/* rmdir keeps non-empty directories. */
static void remove_made(dg_rundir *r)
{
    char path[sizeof r->path];
    snprintf(path, sizeof path, "%s", r->path);
    while (r->made > 0) {
        if (rmdir(path) == 0) r->made--;
        else if (errno != ENOENT) /* ENOENT: try the parent */ break;
        char *slash = strrchr(path, '/');
        if (!slash) break;
        *slash = 0;
    }
}

static dg_err open_locked(dg_rundir *r)
{
    dg_err e = DG_OK;
    bool again = true;
    for (int tries = 0; tries < 20 && again; tries++) {
        dg_rundir_close(r);
        r->made = 0; /* another run may use the directories of the last attempt */
        e = dg_make_directories(r->path, &r->made);
        if (e) return dg_fail(e, DG_MSG("directory-not-made", "%s; choose another with {out}"), dg_message());
        r->fd = open(r->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        again = r->fd < 0 && errno == ENOENT;
        if (r->fd < 0) e = dg_fail(DG_IO, "%s: cannot open this directory: %s", r->path, strerror(errno));
        if (!e) e = take_lock(r, &again);
    }
    if (!e) sync_made(r->fd, r->made);
    if (e && r->lock >= 0)
        close(r->lock), r->lock = -1; /* the lock file keeps the text of the run that holds the lock */
    if (e) dg_rundir_close(r);
    return e;
}

static dg_err unreadable(const dg_rundir *r)
{
    return dg_fail(errno == ENOMEM ? DG_DEVICE : DG_IO, "%s: cannot read this directory: %s", r->path, strerror(errno));
}

static dg_err already_there(const dg_rundir *r)
{
    const int run = holds_run(r->fd);
    if (run < 0) return unreadable(r);
    char here[DG_SHELL_ROOM], other[DG_SHELL_ROOM], beside[sizeof r->path + 2];
    snprintf(beside, sizeof beside, "%s-2", r->path);
    dg_shell_path(here, sizeof here, r->path);
    dg_shell_path(other, sizeof other, beside);
    if (run)
        return dg_fail(DG_USAGE,
                       DG_MSG("run-exists", "%s: has a run, which is never overwritten. Resume it:  %s --resume --out "
                                            "%s  or start another run with {out} %s"),
                       r->path, dg_program(), here, other);
    const int results = has_results(r);
    if (results < 0) return unreadable(r);
    if (!results) return DG_OK;
    return dg_fail(DG_USAGE,
                   DG_MSG("run-incomplete",
                          "%s: has images or a log of a run, but no config.ini or checkpoint to resume from. They are "
                          "never overwritten: move them away, or start another run with {out} %s"),
                   r->path, other);
}

dg_err dg_rundir_open(const char *path, bool resume, dg_rundir *out)
{
    *out = (dg_rundir){.fd = -1, .lock = -1};
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/') n--;
    if (n == 0) return dg_fail(DG_USAGE, "{out}: the name of the run directory is empty");
    if (n > sizeof out->path - NAME_ROOM)
        return dg_fail(DG_USAGE, "{out}: path of %zu bytes; the limit is %zu", n, sizeof out->path - NAME_ROOM);
    memcpy(out->path, path, n);
    out->path[n] = 0;

    struct stat s;
    if (resume && stat(out->path, &s) && errno == ENOENT)
        return dg_fail(DG_USAGE, "%s: no run to resume; start one without {resume}", out->path);
    dg_err e = open_locked(out);
    if (e) {
        remove_made(out);
        return e;
    }
    if (!resume) e = already_there(out);
    if (e) {
        dg_rundir_close(out);
        return e;
    }
    if (!resume) remove_start(out);
    dg_sweep_temporaries(out->fd);
    return DG_OK;
}

dg_err dg_rundir_in_use(int dir, const char *path, bool *yes)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    const int fd = openat(dir, "run.lock", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    int failed = fd < 0 && errno != ENOENT;
    *yes = false;
    while (fd >= 0 && (failed = fcntl(fd, F_OFD_GETLK, &whole)) && errno == EINTR) {}
    const int error = errno;
    if (fd >= 0) close(fd);
    if (failed)
        return dg_fail(DG_IO, DG_MSG("lock-unreadable", "%s/run.lock: cannot test whether a run is active: %s"), path,
                       strerror(error));
    *yes = fd >= 0 && whole.l_type == F_WRLCK;
    return DG_OK;
}

/* A read lock admits other readers, but no run, which needs a write lock. */
static dg_err hold_lock(dg_rundir *r)
{
    struct flock whole = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    r->lock = openat(r->fd, "run.lock", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (r->lock < 0 && errno == ENOENT) return DG_OK;
    if (r->lock < 0)
        return dg_fail(DG_IO, "%s/run.lock: cannot test whether a run is active: %s", r->path, strerror(errno));
    if (!fcntl(r->lock, F_OFD_SETLK, &whole)) return DG_OK;
    if (errno == EAGAIN || errno == EACCES) return locked(r->path, r->lock);
    dg_warn("%s/run.lock: no lock on this file system (%s); start no run in this directory meanwhile", r->path,
            strerror(errno));
    return DG_OK;
}

dg_err dg_rundir_hold(const char *path, dg_rundir *out)
{
    *out = (dg_rundir){.fd = -1, .lock = -1};
    if ((size_t)snprintf(out->path, sizeof out->path, "%s", path) > sizeof out->path - NAME_ROOM)
        return dg_fail(DG_USAGE, "%.100s...: path too long", path);
    out->fd = open(out->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (out->fd < 0) return unreadable(out);
    const dg_err e = hold_lock(out);
    if (e) dg_rundir_close(out);
    return e;
}

void dg_rundir_close(dg_rundir *r)
{
    if (r->lock >= 0) {
        /* Do not remove the lock file, because another run may have opened it. Of a directory that is only read, the
         * descriptor is not writable. */
        if (ftruncate(r->lock, 0)) errno = 0;
        close(r->lock);
    }
    if (r->fd >= 0) close(r->fd);
    r->fd = r->lock = -1;
}

void dg_rundir_abandon(dg_rundir *r)
{
    const bool unused = r->lock >= 0 && !dg_rundir_has(r, "checkpoint.safetensors") && !dg_rundir_has_results(r);
    if (unused) {
        remove_start(r);
        unlinkat(r->fd, "config.ini", 0);
    }
    /* A starting run that has opened the removed run.lock tries again (open_locked). rmdir keeps directories with
     * skipped.txt or a new run.lock. */
    if (unused && r->made > 0 && dg_leads_to(AT_FDCWD, r->path, r->fd) == DG_SAME_YES &&
        unlinkat(r->fd, "run.lock", 0) == 0)
        remove_made(r);
    dg_rundir_close(r);
}

/* Returns DG_OK if the file system does not respond: later writes report the error. */
dg_err dg_rundir_check(const dg_rundir *r, bool *removed)
{
    char link[40], now[4096];
    struct stat s;
    *removed = fstat(r->fd, &s) == 0 && s.st_nlink == 0;
    if (!*removed && r->lock >= 0 && dg_leads_to(r->fd, "run.lock", r->lock) == DG_SAME_NO) {
        *removed = true; /* on NFS, the directory may remain and belong to another run */
        return dg_fail(DG_IO,
                       DG_MSG("run-lock-removed", "%s: run.lock was removed during the run; the run ends and writes "
                                                  "nothing more, because the directory may belong to another run"),
                       r->path);
    }
    if (*removed)
        return dg_fail(DG_IO,
                       DG_MSG("run-removed", "%s: was removed during the run; training since your last backup is lost"),
                       r->path);
    if (dg_leads_to(AT_FDCWD, r->path, r->fd) != DG_SAME_NO) return DG_OK;
    snprintf(link, sizeof link, "/proc/self/fd/%d", r->fd);
    const ssize_t n = readlink(link, now, sizeof now - 1);
    now[n > 0 ? n : 0] = 0;
    const bool there = n > 0 && dg_leads_to(AT_FDCWD, now, r->fd) == DG_SAME_YES; /* true if `now` is the new path */
    return dg_fail(DG_IO,
                   DG_MSG("run-moved", "%s: the run directory was moved%s%s; the run writes a last checkpoint into it "
                                       "and ends; resume with its new path and {resume}"),
                   r->path, there ? " to " : "", there ? now : "");
}

dg_directory dg_rundir_at(const dg_rundir *r) { return (dg_directory){r->fd, r->lock, "run.lock"}; }

bool dg_rundir_has(const dg_rundir *r, const char *format, ...)
{
    char name[NAME_ROOM];
    va_list ap;
    va_start(ap, format);
    const int n = vsnprintf(name, sizeof name, format, ap);
    va_end(ap);
    return n > 0 && n < NAME_ROOM && faccessat(r->fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

char *dg_rundir_file(const dg_rundir *r, char *out, const char *format, ...)
{
    const size_t size = sizeof r->path;
    size_t n = strlen(r->path);
    memcpy(out, r->path, n);
    out[n++] = '/';
    va_list ap;
    va_start(ap, format);
    int k = vsnprintf(out + n, size - n, format, ap);
    va_end(ap);
    if ((size_t)k >= size - n) out[0] = 0; /* a truncated name may name another file */
    return out;
}
