/* A library for LD_PRELOAD that records a program's changes of files and its syncs. From the record a test computes the
 * possible states after a power failure: LD_PRELOAD=record.so RECORD=FILE dcgan ...
 *
 * Each call is a line of FILE, with fields separated by tabs, and with absolute paths:
 *     create INODE PATH;           write INODE OFFSET BYTES, then the bytes and a newline;
 *     size INODE BYTES;            sync INODE;             syncdir PATH;
 *     rename FROM TO;              link FROM TO;           unlink PATH;             make PATH. */
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "next.h"

enum { LONGEST = 4096 };
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER; /* locked until a call's line is written */
static int record = -1;

/* Runs at exit, so that files that gcov writes after main() are not recorded. */
static void end(void)
{
    pthread_mutex_lock(&one_at_a_time);
    record = -1;
    pthread_mutex_unlock(&one_at_a_time);
}

static void begin(void)
{
    const char *path = getenv("RECORD");
    if (path) record = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    atexit(end);
}
DG_BEFORE_MAIN(begin)

static void put(const void *data, size_t n)
{
    NEXT(ssize_t, "write", int, const void *, size_t)
    for (size_t done = 0; done < n;) {
        const ssize_t some = real(record, (const char *)data + done, n - done);
        if (some <= 0) _exit(126);
        done += (size_t)some;
    }
}

static void line(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void line(const char *format, ...)
{
    char text[3 * LONGEST];
    va_list ap;
    va_start(ap, format);
    const int n = vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    if (n < 0 || (size_t)n >= sizeof text) _exit(126);
    put(text, (size_t)n);
}

/* Returns the absolute path of file `name` in directory `dir`, which may be AT_FDCWD. */
static const char *path_of(int dir, const char *name, char out[2 * LONGEST])
{
    char link[64] = "/proc/self/cwd", at[LONGEST];
    if (dir != AT_FDCWD) snprintf(link, sizeof link, "/proc/self/fd/%d", dir);
    const ssize_t n = readlink(link, at, sizeof at - 1);
    at[n > 0 ? n : 0] = 0;
    if (*name == '/') snprintf(out, 2 * LONGEST, "%s", name);
    else snprintf(out, 2 * LONGEST, "%s%s%s", at, *name ? "/" : "", name);
    return out;
}

static unsigned long inode(int fd)
{
    struct stat s;
    return fstat(fd, &s) ? 0 : (unsigned long)s.st_ino;
}

static void begin_call(void) { pthread_mutex_lock(&one_at_a_time); }
static void end_call(void) { pthread_mutex_unlock(&one_at_a_time); }

static void record_open(int fd, int dir, const char *name, int flags)
{
    char path[2 * LONGEST];
    if (record < 0 || fd < 0) return;
    if (flags & O_CREAT) line("create\t%lu\t%s\n", inode(fd), path_of(dir, name, path));
    if (flags & O_TRUNC) line("size\t%lu\t0\n", inode(fd));
}

int openat(int dir, const char *name, int flags, ...)
{
    NEXT(int, "openat", int, const char *, int, ...)
    va_list ap;
    va_start(ap, flags);
    const mode_t mode = flags & O_CREAT ? va_arg(ap, mode_t) : 0;
    va_end(ap);
    begin_call();
    const int fd = real(dir, name, flags, mode);
    record_open(fd, dir, name, flags);
    end_call();
    return fd;
}

int open(const char *name, int flags, ...)
{
    va_list ap;
    va_start(ap, flags);
    const mode_t mode = flags & O_CREAT ? va_arg(ap, mode_t) : 0;
    va_end(ap);
    return openat(AT_FDCWD, name, flags, mode);
}

static void record_write(int fd, const void *data, ssize_t n, off_t at)
{
    if (record < 0 || n <= 0) return;
    line("write\t%lu\t%jd\t%zd\n", inode(fd), (intmax_t)at, n);
    put(data, (size_t)n);
    put("\n", 1);
}

ssize_t write(int fd, const void *data, size_t n)
{
    NEXT(ssize_t, "write", int, const void *, size_t)
    if (fd <= STDERR_FILENO) return real(fd, data, n);
    begin_call();
    const ssize_t done = real(fd, data, n);
    record_write(fd, data, done, lseek(fd, 0, SEEK_CUR) - done);
    end_call();
    return done;
}

ssize_t pwrite(int fd, const void *data, size_t n, off_t at)
{
    NEXT(ssize_t, "pwrite", int, const void *, size_t, off_t)
    begin_call();
    const ssize_t done = real(fd, data, n, at);
    record_write(fd, data, done, at);
    end_call();
    return done;
}

static int resized(int fd, int failed)
{
    struct stat s;
    if (record >= 0 && !failed && !fstat(fd, &s))
        line("size\t%lu\t%jd\n", (unsigned long)s.st_ino, (intmax_t)s.st_size);
    end_call();
    return failed;
}

int ftruncate(int fd, off_t n)
{
    NEXT(int, "ftruncate", int, off_t)
    begin_call();
    return resized(fd, real(fd, n));
}

int fallocate(int fd, int mode, off_t at, off_t n)
{
    NEXT(int, "fallocate", int, int, off_t, off_t)
    begin_call();
    return resized(fd, real(fd, mode, at, n));
}

int fsync(int fd)
{
    NEXT(int, "fsync", int)
    struct stat s;
    char path[2 * LONGEST];
    begin_call();
    const int failed = real(fd);
    const bool known = record >= 0 && !failed && !fstat(fd, &s);
    if (known && S_ISDIR(s.st_mode)) line("syncdir\t%s\n", path_of(fd, "", path));
    else if (known) line("sync\t%lu\n", (unsigned long)s.st_ino);
    end_call();
    return failed;
}

/* Records a call `what` that changes file `name` in directory `dir` (and file `to` in `to_dir`, if not NULL). */
static int named(int failed, const char *what, int dir, const char *name, int to_dir, const char *to)
{
    char from[2 * LONGEST], there[2 * LONGEST];
    if (record >= 0 && !failed) {
        path_of(dir, name, from);
        if (to) line("%s\t%s\t%s\n", what, from, path_of(to_dir, to, there));
        else line("%s\t%s\n", what, from);
    }
    end_call();
    return failed;
}

int renameat(int a, const char *x, int b, const char *y)
{
    NEXT(int, "renameat", int, const char *, int, const char *)
    begin_call();
    return named(real(a, x, b, y), "rename", a, x, b, y);
}

int linkat(int a, const char *x, int b, const char *y, int flags)
{
    NEXT(int, "linkat", int, const char *, int, const char *, int)
    begin_call();
    return named(real(a, x, b, y, flags), "link", a, x, b, y);
}

int unlinkat(int dir, const char *name, int flags)
{
    NEXT(int, "unlinkat", int, const char *, int)
    begin_call();
    return named(real(dir, name, flags), "unlink", dir, name, 0, NULL);
}

int unlink(const char *name) { return unlinkat(AT_FDCWD, name, 0); }
int rmdir(const char *name) { return unlinkat(AT_FDCWD, name, AT_REMOVEDIR); }

int mkdirat(int dir, const char *name, mode_t mode)
{
    NEXT(int, "mkdirat", int, const char *, mode_t)
    begin_call();
    return named(real(dir, name, mode), "make", dir, name, 0, NULL);
}

int mkdir(const char *name, mode_t mode) { return mkdirat(AT_FDCWD, name, mode); }
