#include "rundir.h"

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

#include "atomic.h"

/* Room for the longest name of a file in the directory, behind its path. */
enum { NAME_ROOM = 64 };

/* mkdir -p; *made counts the directories that were not there before. */
static dg_err make_directories(char *path, int *made)
{
    for (char *s = path + 1;; s++) {
        if (*s && *s != '/') continue;
        const char end = *s;
        *s = 0;
        struct stat st;
        /* Asked first, because mkdir of an existing directory on a read-only file system says EROFS. */
        if (stat(path, &st) == 0) {
            if (!S_ISDIR(st.st_mode))
                return dg_fail(DG_IO, "%s: cannot make this directory: a file of this name is in the way", path);
        } else if (mkdir(path, 0777) == 0) {
            ++*made;
        } else if (errno != EEXIST) {
            return dg_fail(DG_IO, "%s: cannot make this directory: %s", path, strerror(errno));
        }
        *s = end;
        if (!end) return DG_OK;
    }
}

/* Does the directory hold what a run writes? The lock alone, or the list of skipped pictures of a run that had
 * too few, is nothing to lose. */
static bool holds_run(const char *path)
{
    static const char *const mark[] = {"config.ini", "log.csv", "log.jsonl", "reals.png", "curves.png",
                                       "epoch-*.png", "checkpoint.safetensors", "checkpoint-*.safetensors"};
    DIR *d = opendir(path);
    bool found = false;
    for (struct dirent *e; d && !found && (e = readdir(d));)
        for (size_t i = 0; i < sizeof mark / sizeof mark[0]; i++) found |= fnmatch(mark[i], e->d_name, 0) == 0;
    if (d) closedir(d);
    return found;
}

/* path and suffix as one word of a shell command. */
static void quote(char *out, size_t size, const char *path, const char *suffix)
{
    const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._-+=:,@%";
    const bool simple = path[strspn(path, plain)] == 0 && path[0] != '-';
    size_t n = 0;
    if (!simple) out[n++] = '\'';
    for (int i = 0; i < 2; i++)
        for (const char *s = i ? suffix : path; *s && n + 8 < size; s++) {
            if (*s == '\'') memcpy(out + n, "'\\'", 3), n += 3; /* '\'' : close, a quote, open */
            out[n++] = *s;
        }
    if (!simple) out[n++] = '\'';
    out[n] = 0;
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
    /* On a full disk the lock holds all the same; only the message of another run is poorer. */
    if (ftruncate(fd, 0) || pwrite(fd, text, (size_t)n, 0) != n) errno = 0;
}

/* Who holds the lock, from the file. The owner writes it just after locking: until then it is empty, or names a
 * run that was killed. */
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
            return dg_fail(DG_LOCKED, "%s: in use by process %ld on %s since %s; wait until it ends, or give another "
                           "directory with --out", path, pid, host, when);
    }
    return dg_fail(DG_LOCKED, "%s: in use by another run; wait until it ends, or give another directory with --out",
                   path);
}

static dg_err take_lock(dg_rundir *r)
{
    char file[4096];
    dg_rundir_file(r, file, "run.lock");
    int fd = open(file, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0) return dg_fail(DG_IO, "%s: cannot open the lock of the run directory: %s", file, strerror(errno));
    /* Of the open file, not of the process: the kernel drops it when the run is killed, and closing another
     * descriptor of the same file does not. */
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(fd, F_OFD_SETLK, &whole)) {
        if (errno == EAGAIN || errno == EACCES) {
            dg_err e = locked(r->path, fd);
            close(fd);
            return e;
        }
        dg_warn("%s: no lock on this file system (%s); do not start two runs in this directory", file, strerror(errno));
    }
    write_owner(fd);
    r->lock = fd;
    return DG_OK;
}

dg_err dg_rundir_open(const char *path, bool resume, dg_rundir *out)
{
    *out = (dg_rundir){.lock = -1};
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/') n--;
    if (n == 0) return dg_fail(DG_USAGE, "--out: the name of the run directory is empty");
    if (n > sizeof out->path - NAME_ROOM)
        return dg_fail(DG_USAGE, "--out: a path of %zu bytes; at most %zu", n, sizeof out->path - NAME_ROOM);
    memcpy(out->path, path, n);
    out->path[n] = 0;

    struct stat s;
    if (resume && stat(out->path, &s) && errno == ENOENT)
        return dg_fail(DG_USAGE, "%s: there is no run to resume; leave --resume out to start one", out->path);
    dg_err e = make_directories(out->path, &out->made);
    if (!e) e = take_lock(out);
    if (e) return e;
    if (!resume && holds_run(out->path)) {
        char here[300], other[300];
        quote(here, sizeof here, out->path, "");
        quote(other, sizeof other, out->path, "-2");
        e = dg_fail(DG_USAGE, "%s: already holds a run, which is never overwritten. Go on with it:  dcgan --resume "
                    "--out %s  or start another beside it, with --out %s", out->path, here, other);
        dg_rundir_close(out);
        return e;
    }
    dg_sweep_temporaries(out->path);
    return DG_OK;
}

void dg_rundir_close(dg_rundir *r)
{
    if (r->lock < 0) return;
    /* Emptied, not removed: a name that another run has just opened must stay the same file. */
    if (ftruncate(r->lock, 0)) errno = 0;
    close(r->lock);
    r->lock = -1;
}

void dg_rundir_abandon(dg_rundir *r)
{
    char path[sizeof r->path];
    if (r->lock >= 0 && r->made > 0 && !holds_run(r->path)) {
        /* While we hold the lock nobody else gets it; who opens it now finds the directory gone. rmdir spares what
         * is not empty: a list of skipped pictures, the lock of a run that has just begun. */
        if (unlink(dg_rundir_file(r, path, "run.lock")) == 0) {
            snprintf(path, sizeof path, "%s", r->path);
            for (; r->made > 0 && rmdir(path) == 0; r->made--) {
                char *slash = strrchr(path, '/');
                if (!slash) break;
                *slash = 0;
            }
        }
    }
    dg_rundir_close(r);
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
    if (k < 0 || (size_t)k >= size - n) out[0] = 0; /* never another file than the one that was meant */
    return out;
}
