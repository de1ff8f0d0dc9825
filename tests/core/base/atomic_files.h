/* A letter determines all bytes of a test file, so is_body() detects a mixture of two files. */
#pragma once

#include "core/base/file_io.h"
#include "tempdir.h"
#include "test.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/file.h>
#include <sys/syscall.h>

__attribute__((unused)) static dg_chunk body(char letter, size_t n)
{
    static char memory[256][1 << 18];
    char *m = memory[(unsigned char)letter];
    for (size_t i = 0; i < n; i++) m[i] = (char)(letter + (char)(i % 7));
    return (dg_chunk){m, n};
}
__attribute__((unused)) static bool is_body(const char *path, char letter, size_t n)
{
    size_t got;
    char *data = temp_slurp(path, &got);
    bool same = data && got == n && !memcmp(data, body(letter, n).data, n);
    free(data);
    return same;
}
__attribute__((unused)) static int temporaries(const char *dir) { return temp_count(dir, ".dcgan-tmp"); }

/* Removes temporary files as the next training run does. */
__attribute__((unused)) static void sweep(const char *directory)
{
    const int dir = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0) return;
    dg_sweep_temporaries(dir);
    close(dir);
}

/* As over NFS, an exclusive lock requires a descriptor opened for writing. */
int flock(int fd, int operation)
{
    if (!(operation & LOCK_EX) || (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY)
        return (int)syscall(SYS_flock, fd, operation);
    errno = EBADF;
    return -1;
}
