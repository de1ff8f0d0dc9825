#include "core/base/file_io.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Returns 0, or -1 with errno. */
static int write_all(int fd, const char *at, size_t left)
{
    while (left) {
        const ssize_t n = write(fd, at, left < 1u << 30 ? left : 1u << 30);
        if (n < 0 && errno == EAGAIN) { /* a process that shares the descriptor may have set O_NONBLOCK */
            (void)poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, -1);
            continue;
        }
        if (n < 0 && errno == EINTR) continue;
        if (n == 0) errno = EIO;
        if (n <= 0) return -1;
        at += n;
        left -= (size_t)n;
    }
    return 0;
}

dg_err dg_stream_to(int fd, const char *path, const dg_chunk *piece, int pieces)
{
    sigset_t held, before, pending;
    sigemptyset(&held);
    sigaddset(&held, SIGPIPE);
    sigaddset(&held, SIGXFSZ);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &held, &before);
    int error = 0;
    for (int i = 0; i < pieces && !error; i++)
        if (write_all(fd, piece[i].data, piece[i].bytes)) error = errno;
    if (error) {
        for (int i = 0; i < 2; i++) {
            const int raised = (const int[]){SIGPIPE, SIGXFSZ}[i];
            sigset_t one;
            sigemptyset(&one);
            sigaddset(&one, raised);
            if (!sigismember(&pending, raised)) sigtimedwait(&one, NULL, &(struct timespec){0, 0});
        }
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error ? dg_fail(DG_IO, DG_MSG("cannot-write", "%s: cannot write this file: %s"),
                           strcmp(path, "-") ? path : "standard output", strerror(error))
                 : DG_OK;
}

dg_err dg_stream_open(const char *path, int *fd)
{
    struct stat s;
    *fd = -1;
    if (stat(path, &s) || S_ISREG(s.st_mode) || S_ISDIR(s.st_mode)) return DG_OK;
    if (!S_ISFIFO(s.st_mode) && !S_ISCHR(s.st_mode))
        return dg_fail(DG_IO, "%s: is a %s, not a file; choose another {out}", path,
                       S_ISBLK(s.st_mode) ? "block device" : "socket");
    const mode_t kind = s.st_mode & S_IFMT;
    *fd = open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
    dg_err e = DG_OK;
    if (*fd < 0 || fstat(*fd, &s)) e = dg_fail(DG_IO, "%s: cannot open this file: %s", path, strerror(errno));
    else if ((s.st_mode & S_IFMT) != kind) e = dg_fail(DG_IO, "%s: changed while it was being opened", path);
    if (e && *fd >= 0) close(*fd), *fd = -1;
    return e;
}

dg_err dg_stream_close(int fd, const char *path, dg_err e)
{
    if (close(fd) && !e && errno != EINTR)
        return dg_fail(DG_IO, "%s: cannot close this file: %s", path, strerror(errno));
    return e;
}

bool dg_stream_file(const char *path, const dg_chunk *piece, int pieces, dg_err *e)
{
    int fd;
    *e = dg_stream_open(path, &fd);
    if (fd >= 0) *e = dg_stream_close(fd, path, dg_stream_to(fd, path, piece, pieces));
    return fd >= 0 || *e;
}

dg_err dg_link_target(const char *path, char **target)
{
    struct stat s;
    *target = NULL;
    if (lstat(path, &s) || !S_ISLNK(s.st_mode)) return DG_OK;
    if ((*target = realpath(path, NULL))) return DG_OK;
    if (errno == ENOMEM) return dg_fail(DG_DEVICE, "%s: out of memory", path);
    return dg_fail(
        DG_IO,
        DG_MSG("broken-link",
               "%s: is a symbolic link that cannot be followed: %s; give the target of the link, or remove the link"),
        path, strerror(errno));
}
