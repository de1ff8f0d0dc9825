/* A library for LD_PRELOAD that makes one call fail, to test that the program reports it and ends properly.
 *     LD_PRELOAD=faults.so FAULT=fail:memory:7 dcgan info FILE       The 7th allocation fails.
 *     LD_PRELOAD=faults.so FAULT=fail:memory:7+ dcgan info FILE      The 7th and all later allocations fail.
 *     LD_PRELOAD=faults.so FAULT=short:write:2 dcgan ...             The 2nd write writes half of its bytes.
 *     LD_PRELOAD=faults.so FAULT=interrupt:write:2 dcgan ...         The 2nd write fails with EINTR before it begins.
 *     LD_PRELOAD=faults.so FAULT=signal:file:30 dcgan ...            SIGINT arrives just before the 30th call on files.
 *     LD_PRELOAD=faults.so FAULT=kill:change:4 dcgan ...             The program is killed at the 4th call that changes
 *                                                                    files or directories. A write is half done by
 * then. LD_PRELOAD=faults.so FAULT_COUNT=FILE dcgan info FILE          Counts calls in FILE: "memory 123", "open 4" ...
 * Counting begins with main(). Calls of C streams are counted, too: fopen as open, fread and fgets as read, fclose as
 * close, and fflush as a kind of its own. With threads the order of calls varies from run to run. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "next.h"

enum {
    MEMORY,
    THREAD,
    OPEN,
    READ,
    WRITE,
    FLUSH,
    SYNC,
    CLOSE,
    RENAME,
    LINK,
    UNLINK,
    STAT,
    LIST,
    MAKE,
    SIZE,
    LOCK,
    MODE,
    KINDS
};
enum { FILES = KINDS, CHANGES, COUNTERS }; /* counters of all calls on files, and of calls that change a file */
static const struct {
    const char *name;
    int error;
    bool interrupts; /* a call of this kind may fail with EINTR */
} kinds[COUNTERS] = {
    [MEMORY] = {"memory", ENOMEM, false}, [THREAD] = {"thread", EAGAIN, false}, [OPEN] = {"open", EMFILE, false},
    [READ] = {"read", EIO, true},         [WRITE] = {"write", ENOSPC, true},    [FLUSH] = {"flush", ENOSPC, false},
    [SYNC] = {"sync", EIO, true},         [CLOSE] = {"close", EIO, true},       [RENAME] = {"rename", EIO, false},
    [LINK] = {"link", EMLINK, false},     [UNLINK] = {"unlink", EIO, false},    [STAT] = {"stat", EIO, false},
    [LIST] = {"list", EIO, false},        [MAKE] = {"make", ENOSPC, false},     [SIZE] = {"size", ENOSPC, true},
    [LOCK] = {"lock", ENOLCK, true},      [MODE] = {"mode", EPERM, false},      [FILES] = {"file", EIO, false},
    [CHANGES] = {"change", EIO, false},
};
static atomic_long calls[COUNTERS];
static enum { NOTHING, FAIL, SHORT, INTERRUPT, SIGNAL, KILL } how;
static int counter = -1; /* index of the counter that decides which call fails */
static long first, last;
static atomic_bool counting;
static _Thread_local __attribute__((tls_model("initial-exec"))) bool spared; /* this thread's calls are not counted */
static void (*watch)(int kind, long k); /* a test's function for the k-th call of each kind, or NULL */

/* Counts this call, and returns true if it must fail. */
static bool hit(int kind, bool changes)
{
    if (!atomic_load(&counting) || spared) return false;
    const int counted[] = {kind, kind > THREAD ? FILES : -1, changes ? CHANGES : -1};
    bool now = false;
    for (int i = 0; i < 3; i++) {
        if (counted[i] < 0) continue;
        const long n = atomic_fetch_add(&calls[counted[i]], 1) + 1;
        now |= counted[i] == counter && n >= first && n <= last;
        if (i == 0 && watch) watch(kind, n);
    }
    return now;
}

/* Counts a call that has no partial results. Returns true, with errno set, if the call must fail. */
static bool call_fails(int kind, bool changes)
{
    if (!hit(kind, changes)) return false;
    if (how == KILL) kill(getpid(), SIGKILL);
    if (how == SIGNAL) kill(getpid(), SIGINT);
    if (how == FAIL) errno = kinds[kind].error;
    if (how == INTERRUPT && kinds[kind].interrupts) errno = EINTR;
    return how == FAIL || (how == INTERRUPT && kinds[kind].interrupts);
}

/* Address range of a library whose calls are not counted, because it ends the program if a call fails. */
static uintptr_t library_from, library_to;
static bool counts(const void *caller) { return (uintptr_t)caller - library_from >= library_to - library_from; }
#define CALLER __builtin_return_address(0)

/* Defines a function. The arguments are result, failure value, kind, whether it changes a file, name, types,
 * parameters, arguments. */
#define TYPES(...) __VA_ARGS__
#define CALL(result, failed, kind, changes, name, types, declared, given)         \
    result name declared                                                          \
    {                                                                             \
        NEXT(result, #name, TYPES types)                                          \
        return counts(CALLER) && call_fails(kind, changes) ? failed : real given; \
    }

CALL(void *, NULL, MEMORY, false, malloc, (size_t), (size_t n), (n))
CALL(void *, NULL, MEMORY, false, calloc, (size_t, size_t), (size_t n, size_t bytes), (n, bytes))
CALL(void *, NULL, MEMORY, false, realloc, (void *, size_t), (void *old, size_t n), (old, n))
CALL(void *, NULL, MEMORY, false, aligned_alloc, (size_t, size_t), (size_t to, size_t n), (to, n))
CALL(int, ENOMEM, MEMORY, false, posix_memalign, (void **, size_t, size_t), (void **p, size_t to, size_t n), (p, to, n))
CALL(int, EAGAIN, THREAD, false, pthread_create, (pthread_t *, const pthread_attr_t *, void *(*)(void *), void *),
     (pthread_t * t, const pthread_attr_t *a, void *(*start)(void *), void *with), (t, a, start, with))

CALL(FILE *, NULL, OPEN, false, fopen, (const char *, const char *), (const char *path, const char *mode), (path, mode))
CALL(DIR *, NULL, OPEN, false, opendir, (const char *), (const char *path), (path))
CALL(DIR *, NULL, MEMORY, false, fdopendir, (int), (int fd), (fd))
CALL(size_t, 0, READ, false, fread, (void *, size_t, size_t, FILE *), (void *to, size_t size, size_t n, FILE *f),
     (to, size, n, f))
CALL(char *, NULL, READ, false, fgets, (char *, int, FILE *), (char *to, int n, FILE *f), (to, n, f))
CALL(ssize_t, -1, WRITE, true, pwrite, (int, const void *, size_t, off_t), (int fd, const void *p, size_t n, off_t at),
     (fd, p, n, at))
CALL(int, EOF, FLUSH, false, fflush, (FILE *), (FILE * f), (f))
CALL(int, -1, SYNC, true, fsync, (int), (int fd), (fd))
CALL(int, -1, RENAME, true, renameat, (int, const char *, int, const char *),
     (int a, const char *x, int b, const char *y), (a, x, b, y))
CALL(int, -1, LINK, true, linkat, (int, const char *, int, const char *, int),
     (int a, const char *x, int b, const char *y, int flags), (a, x, b, y, flags))
CALL(int, -1, UNLINK, true, unlink, (const char *), (const char *path), (path))
CALL(int, -1, UNLINK, true, unlinkat, (int, const char *, int), (int dir, const char *path, int flags),
     (dir, path, flags))
CALL(int, -1, UNLINK, true, remove, (const char *), (const char *path), (path))
CALL(int, -1, UNLINK, true, rmdir, (const char *), (const char *path), (path))
CALL(int, -1, STAT, false, stat, (const char *, struct stat *), (const char *path, struct stat *s), (path, s))
CALL(int, -1, STAT, false, lstat, (const char *, struct stat *), (const char *path, struct stat *s), (path, s))
CALL(int, -1, STAT, false, fstat, (int, struct stat *), (int fd, struct stat *s), (fd, s))
CALL(int, -1, STAT, false, fstatat, (int, const char *, struct stat *, int),
     (int dir, const char *path, struct stat *s, int flags), (dir, path, s, flags))
CALL(int, -1, STAT, false, access, (const char *, int), (const char *path, int mode), (path, mode))
CALL(int, -1, STAT, false, faccessat, (int, const char *, int, int), (int dir, const char *path, int mode, int flags),
     (dir, path, mode, flags))
CALL(int, -1, STAT, false, statvfs, (const char *, struct statvfs *), (const char *path, struct statvfs *s), (path, s))
CALL(int, -1, STAT, false, fstatvfs, (int, struct statvfs *), (int fd, struct statvfs *s), (fd, s))
CALL(off_t, -1, STAT, false, lseek, (int, off_t, int), (int fd, off_t at, int from), (fd, at, from))
CALL(struct dirent *, NULL, LIST, false, readdir, (DIR *), (DIR * d), (d))
CALL(int, -1, LIST, false, scandir,
     (const char *, struct dirent ***, int (*)(const struct dirent *),
      int (*)(const struct dirent **, const struct dirent **)),
     (const char *path, struct dirent ***out, int (*wanted)(const struct dirent *),
      int (*order)(const struct dirent **, const struct dirent **)),
     (path, out, wanted, order))
CALL(int, -1, MAKE, true, mkdir, (const char *, mode_t), (const char *path, mode_t mode), (path, mode))
CALL(int, -1, MAKE, true, mkdirat, (int, const char *, mode_t), (int dir, const char *path, mode_t mode),
     (dir, path, mode))
CALL(int, -1, SIZE, true, ftruncate, (int, off_t), (int fd, off_t n), (fd, n))
CALL(int, -1, SIZE, true, fallocate, (int, int, off_t, off_t), (int fd, int mode, off_t at, off_t n), (fd, mode, at, n))
CALL(int, -1, LOCK, false, flock, (int, int), (int fd, int what), (fd, what))
CALL(int, -1, MODE, false, fchmod, (int, mode_t), (int fd, mode_t mode), (fd, mode))
CALL(int, -1, MODE, false, fchown, (int, uid_t, gid_t), (int fd, uid_t user, gid_t group), (fd, user, group))

#define OPENS(name, types, declared, given)                                             \
    int name declared                                                                   \
    {                                                                                   \
        NEXT(int, #name, TYPES types, int, ...)                                         \
        va_list ap;                                                                     \
        va_start(ap, flags);                                                            \
        const mode_t mode = flags & O_CREAT ? va_arg(ap, mode_t) : 0;                   \
        va_end(ap);                                                                     \
        return call_fails(OPEN, flags & O_CREAT) ? -1 : real(TYPES given, flags, mode); \
    }
OPENS(open, (const char *), (const char *path, int flags, ...), (path))
OPENS(openat, (int, const char *), (int dir, const char *path, int flags, ...), (dir, path))

int fcntl(int fd, int command, ...)
{
    NEXT(int, "fcntl", int, int, ...)
    va_list ap;
    va_start(ap, command);
    void *with = va_arg(ap, void *);
    va_end(ap);
    const bool copies = command == F_DUPFD_CLOEXEC || command == F_DUPFD;
    return call_fails(copies ? OPEN : LOCK, false) ? -1 : real(fd, command, with);
}

/* Writes half of the data for FAULT=short or kill. Writes to terminals and pipes are not counted. */
ssize_t write(int fd, const void *data, size_t n)
{
    NEXT(ssize_t, "write", int, const void *, size_t)
    if (fd <= STDERR_FILENO || !hit(WRITE, true)) return real(fd, data, n);
    if (how == FAIL || how == INTERRUPT) return errno = how == FAIL ? ENOSPC : EINTR, -1;
    if (how == SIGNAL) kill(getpid(), SIGINT);
    const ssize_t done = real(fd, data, how == SIGNAL || n < 2 ? n : n / 2);
    if (how == KILL) kill(getpid(), SIGKILL);
    return done;
}

ssize_t read(int fd, void *to, size_t n)
{
    NEXT(ssize_t, "read", int, void *, size_t)
    if (!hit(READ, false)) return real(fd, to, n);
    if (how == FAIL || how == INTERRUPT) return errno = how == FAIL ? EIO : EINTR, -1;
    if (how == SIGNAL) kill(getpid(), SIGINT);
    return real(fd, to, how == SHORT && n > 1 ? n / 2 : n);
}

ssize_t pread(int fd, void *to, size_t n, off_t at)
{
    NEXT(ssize_t, "pread", int, void *, size_t, off_t)
    if (!hit(READ, false)) return real(fd, to, n, at);
    if (how == FAIL || how == INTERRUPT) return errno = how == FAIL ? EIO : EINTR, -1;
    if (how == SIGNAL) kill(getpid(), SIGINT);
    if (how == KILL) kill(getpid(), SIGKILL);
    return real(fd, to, how == SHORT && n > 1 ? n / 2 : n, at);
}

/* After a simulated failure the descriptor is closed, as on Linux. */
int close(int fd)
{
    NEXT(int, "close", int)
    const bool wrong = call_fails(CLOSE, false);
    const int error = errno, closed = real(fd);
    if (wrong) errno = error;
    return wrong ? -1 : closed;
}

int fclose(FILE *f)
{
    NEXT(int, "fclose", FILE *)
    const bool memory = fileno(f) < 0; /* a stream in memory is never interrupted by a signal */
    const bool wrong = call_fails(CLOSE, false) && !(memory && how == INTERRUPT);
    const int error = errno, closed = real(f);
    if (wrong) errno = error;
    return wrong ? EOF : closed;
}

/* AddressSanitizer would end the program if this call failed. */
int pthread_getattr_np(pthread_t thread, pthread_attr_t *to)
{
    NEXT(int, "pthread_getattr_np", pthread_t, pthread_attr_t *)
    spared = true;
    const int failed = real(thread, to);
    spared = false;
    return failed;
}

/* Runs at exit, so that calls after main() by the C library, sanitizers or gcov are not counted. */
static void end_counting(void)
{
    const char *path = getenv("FAULT_COUNT");
    atomic_store(&counting, false);
    FILE *f = path ? fopen(path, "w") : NULL;
    for (int i = 0; i < COUNTERS && f; i++) fprintf(f, "%s %ld\n", kinds[i].name, atomic_load(&calls[i]));
    if (f) fclose(f);
}

/* Returns i if *text starts with name(i) and a colon, and moves *text past the colon. */
static int word_of(const char **text, int n, const char *(*name)(int))
{
    for (int i = 0; i < n; i++) {
        const size_t long_ = strlen(name(i));
        if (strncmp(*text, name(i), long_) != 0 || (*text)[long_] != ':') continue;
        *text += long_ + 1;
        return i;
    }
    _exit(126);
}
static const char *kind_name(int i) { return kinds[i].name; }
static const char *how_name(int i)
{
    static const char *const name[] = {"nothing", "fail", "short", "interrupt", "signal", "kill"};
    return name[i];
}

static void begin_counting(void)
{
    const char *fault = getenv("FAULT");
    if (fault) {
        char *end;
        how = (unsigned)word_of(&fault, KILL + 1, how_name);
        counter = word_of(&fault, COUNTERS, kind_name);
        first = last = strtol(fault, &end, 10);
        if (*end == '+') last = __LONG_MAX__;
    }
    atexit(end_counting);
    atomic_store(&counting, true);
}
DG_BEFORE_MAIN(begin_counting)
