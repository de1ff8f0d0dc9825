/* Loaded into a program by LD_PRELOAD: kills it at the k-th of its calls that change a file or a directory, where k is
 * DG_KILL_AT; a write gets half of its bytes to the file first. Without that, DG_KILL_COUNT names a file that gets the
 * number of such calls at the end. Threads make the order of calls differ from run to run; every call is hit in time.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static atomic_long calls;
static long kill_at;

__attribute__((constructor)) static void begin(void)
{
    const char *k = getenv("DG_KILL_AT");
    kill_at = k ? atol(k) : 0;
}

__attribute__((destructor)) static void end(void)
{
    const char *name = getenv("DG_KILL_COUNT");
    FILE *f = name ? fopen(name, "w") : NULL;
    if (!f) return;
    fprintf(f, "%ld\n", atomic_load(&calls));
    fclose(f);
}

static bool now(void) { return atomic_fetch_add(&calls, 1) + 1 == kill_at; }
static void die_now(void)
{
    if (now()) kill(getpid(), SIGKILL);
}

#define REAL(result, name, ...) (__extension__(result(*)(__VA_ARGS__)) dlsym(RTLD_NEXT, #name))

int openat(int dir, const char *path, int flags, ...)
{
    va_list ap;
    va_start(ap, flags);
    const mode_t mode = flags & O_CREAT ? va_arg(ap, mode_t) : 0;
    va_end(ap);
    if (flags & O_CREAT) die_now();
    return REAL(int, openat, int, const char *, int, ...)(dir, path, flags, mode);
}

ssize_t write(int fd, const void *data, size_t n)
{
    if (fd > 2 && now()) {
        (void)!REAL(ssize_t, write, int, const void *, size_t)(fd, data, n / 2);
        kill(getpid(), SIGKILL);
    }
    return REAL(ssize_t, write, int, const void *, size_t)(fd, data, n);
}

ssize_t pwrite(int fd, const void *data, size_t n, off_t at)
{
    die_now();
    return REAL(ssize_t, pwrite, int, const void *, size_t, off_t)(fd, data, n, at);
}

#define CALL(name, declared, types, given)   \
    int name declared                        \
    {                                        \
        die_now();                           \
        return REAL(int, name, types) given; \
    }
#define TYPES(...) __VA_ARGS__
CALL(fsync, (int fd), TYPES(int), (fd))
CALL(ftruncate, (int fd, off_t n), TYPES(int, off_t), (fd, n))
CALL(fallocate, (int fd, int mode, off_t at, off_t n), TYPES(int, int, off_t, off_t), (fd, mode, at, n))
CALL(mkdir, (const char *path, mode_t mode), TYPES(const char *, mode_t), (path, mode))
CALL(mkdirat, (int dir, const char *path, mode_t mode), TYPES(int, const char *, mode_t), (dir, path, mode))
CALL(rmdir, (const char *path), TYPES(const char *), (path))
CALL(unlink, (const char *path), TYPES(const char *), (path))
CALL(unlinkat, (int dir, const char *path, int flags), TYPES(int, const char *, int), (dir, path, flags))
CALL(renameat, (int a, const char *x, int b, const char *y), TYPES(int, const char *, int, const char *), (a, x, b, y))
CALL(linkat, (int a, const char *x, int b, const char *y, int flags), TYPES(int, const char *, int, const char *, int),
     (a, x, b, y, flags))
